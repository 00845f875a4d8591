//! `spawnload`: a loop that forks a process that forks and executes a shell that runs a command.

use std::convert::Infallible;
use std::fs::OpenOptions;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sys::clock::monotonic_ns;
use sys::process::{Exit, Program, fork_child, wait};

use crate::desc::{
    Desc, Dose, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare,
};

/// Loops after which the load is warm, per worker.
const WARM_LOOPS: u64 = 20;
/// Pause after a refused fork, so that a full process table is not fought for.
const REFUSED_PAUSE: Duration = Duration::from_millis(10);

const LOOPS: usize = 0;
const BUSY_NS: usize = 1;
const REFUSED: usize = 2;

pub(crate) const LOAD: Desc = Desc {
    name: "spawnload",
    version: 1,
    about: "fork a process that forks and executes a shell that runs a command, in a loop",
    totals: &["loops", "busy_ns", "refused"],
    dose_unit: "busy_ns",
    plan,
    prepare: nothing_to_prepare,
    work,
    warm,
    dose,
    finish: nothing_to_finish,
};

fn plan(setting: &Setting) -> Result<Plan, Unsupported> {
    if !Path::new("/bin/sh").exists() {
        return Err(Unsupported("there is no shell: /bin/sh is missing".to_owned()));
    }
    if command().is_none() {
        return Err(Unsupported("there is no command to run: /bin/true is missing".to_owned()));
    }
    let workers = setting.intensity.ceil().max(1.0) as usize;
    let duty_ppm = (setting.intensity / workers as f64 * 1e6).round() as u64;
    Ok(Plan {
        workers,
        params: [("loops_at_once".to_owned(), workers as u64), ("duty_ppm".to_owned(), duty_ppm)]
            .into(),
        notes: Vec::new(),
    })
}

/// The command that the shell runs: the smallest that every system has.
fn command() -> Option<PathBuf> {
    ["/bin/true", "/usr/bin/true"].iter().map(PathBuf::from).find(|path| path.exists())
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
    let command = command().ok_or_else(|| WorkError::new("find /bin/true", &missing))?;
    // A second command keeps the shell from replacing itself with the first one.
    let script = format!("{}; exit 0", command.display());
    let shell = Program::new(Path::new("/bin/sh"), &["sh", "-c", &script])
        .map_err(|error| WorkError::new("prepare the shell", &error))?;
    let null = OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .map_err(|error| WorkError::new("open /dev/null", &error))?;
    let duty = (work.plan.param("duty_ppm") as f64 / 1e6).clamp(1e-3, 1.0);
    loop {
        let start_ns = monotonic_ns();
        let child = fork_child(|| {
            let shell = shell.start(null.as_fd()).and_then(|pid| wait(pid, true));
            i32::from(!matches!(shell, Ok(Some(Exit::Code(0)))))
        });
        let done = child.and_then(|pid| wait(pid, true));
        let busy_ns = monotonic_ns() - start_ns;
        if matches!(done, Ok(Some(Exit::Code(0)))) {
            work.board.add(work.worker, LOOPS, 1);
            work.board.add(work.worker, BUSY_NS, busy_ns);
        } else {
            work.board.add(work.worker, REFUSED, 1);
            std::thread::sleep(REFUSED_PAUSE);
        }
        if duty < 1.0 {
            std::thread::sleep(Duration::from_nanos((busy_ns as f64 * (1.0 / duty - 1.0)) as u64));
        }
    }
}

fn warm(progress: &Progress<'_>) -> bool {
    progress.total_since_start(LOOPS) >= WARM_LOOPS * progress.plan.workers as u64
}

/// Intended: each worker busy with a loop for its share of the time; loops that were refused a
/// process are not delivered.
fn dose(progress: &Progress<'_>) -> Dose {
    let duty = progress.plan.param("duty_ppm") as f64 / 1e6;
    let intended = progress.elapsed_ns as f64 * progress.plan.workers as f64 * duty;
    Dose { intended: intended as u64, delivered: progress.total(BUSY_NS) }
}
