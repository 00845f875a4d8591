//! `spawnload`: a loop that forks a process that forks and executes a shell that runs a command.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sys::clock::monotonic_ns;
use sys::process::{Exit, Program, fork_child, wait};

use crate::{Endless, Load, Plan, Setting, Work, Worker, Workload, at};

const WARM_LOOPS: u64 = 20;
const REFUSED_PAUSE: Duration = Duration::from_millis(10);

const LOOPS: usize = 0;
const BUSY_NS: usize = 1;
const REFUSED: usize = 2;

pub(crate) const LOAD: Workload = Workload {
    name: "spawnload",
    about: "fork a process that forks and executes a shell that runs a command, in a loop",
    measures: &["loops", "busy_ns", "refused"],
    volume_unit: "busy_ns",
    is_warm: |progress| progress.since_start(LOOPS) >= WARM_LOOPS * progress.plan.workers as u64,
    // A refused fork is not delivered load.
    ..Workload::new(Work::Load(Load::new(plan, work, |progress| {
        progress.busy(progress.plan.workers as u64, BUSY_NS)
    })))
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    if !Path::new("/bin/sh").exists() {
        return Err("there is no shell: /bin/sh is missing".to_owned());
    }
    if command().is_none() {
        return Err("there is no command to run: /bin/true is missing".to_owned());
    }
    let workers = setting.intensity.ceil().max(1.0) as u64;
    let duty_ppm = (setting.intensity / workers as f64 * 1e6).round() as u64;
    Ok(Plan::new(workers, [("loops_at_once", workers), ("duty_ppm", duty_ppm)]))
}

/// The command that the shell runs: the smallest that every system has.
fn command() -> Option<PathBuf> {
    ["/bin/true", "/usr/bin/true"].iter().map(PathBuf::from).find(|path| path.exists())
}

fn work(worker: &Worker<'_>) -> Endless {
    let command = command().ok_or(io::ErrorKind::NotFound.into()).map_err(at("find /bin/true"))?;
    // A second command keeps the shell from replacing itself with the first one.
    let script = format!("{}; exit 0", command.display());
    let shell = Program::new(Path::new("/bin/sh"), &["sh", "-c", &script])
        .map_err(at("prepare the shell"))?;
    let null = OpenOptions::new().write(true).open("/dev/null").map_err(at("open /dev/null"))?;
    let duty = (worker.plan.param("duty_ppm") as f64 / 1e6).clamp(1e-3, 1.0);
    loop {
        let start_ns = monotonic_ns();
        let child = fork_child(|| {
            let shell = shell.start(null.as_fd()).and_then(|pid| wait(pid, true));
            i32::from(!matches!(shell, Ok(Some(Exit::Code(0)))))
        });
        let done = child.and_then(|pid| wait(pid, true));
        let busy_ns = monotonic_ns() - start_ns;
        if matches!(done, Ok(Some(Exit::Code(0)))) {
            worker.add(LOOPS, 1);
            worker.add(BUSY_NS, busy_ns);
        } else {
            worker.add(REFUSED, 1);
            std::thread::sleep(REFUSED_PAUSE);
        }
        if duty < 1.0 {
            std::thread::sleep(Duration::from_nanos((busy_ns as f64 * (1.0 / duty - 1.0)) as u64));
        }
    }
}
