//! A run of the user's own commands: one process repeats them until their times are known.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use keep::marked;
use model::{EndStatus, JobSpec, Measure, WorkRecord};
use workloads::{
    Hook, LIMIT, Order, WARMUP, Workload, commands, hook, is_there, longest_ns, repetitions,
    search_path,
};

use crate::assignment::{AgentError, Assignment};
use crate::children::{enter_groups, send};
use crate::delays::Delays;
use crate::issued::Issuer;
use crate::private_view::{PrivateView, names};
use crate::users::{Message, Side};
use crate::working::{self, Task};

/// Time from one reading of the counters to the next, in ns.
const COUNTERS_EVERY_NS: u64 = 100_000_000;
/// Name of a repetition's largest resident memory.
const PEAK: &str = "peak_bytes";

pub(crate) fn run(
    assignment: &Assignment,
    load: &'static Workload,
    (job, asked): (&Workload, &JobSpec),
    out: impl Write,
) -> Result<EndStatus, AgentError> {
    let commands = commands(asked).map_err(AgentError::Job)?;
    let live = |side: Side<'_>| {
        let folder = match asked.choices.get("folder").filter(|folder| !folder.is_empty()) {
            Some(folder) => PathBuf::from(folder),
            None => assignment.work_dir.join("command"),
        };
        // In the process that waits for the commands: their ends are reported to it.
        let delays = RefCell::new(Delays::open(&assignment.sources));
        Runner { assignment, job: asked, commands: &commands, side, folder, delays }.live()
    };
    let ignores = ignores_failures(asked);
    let task = Task {
        measure: Measure::Job(Box::new(JobSpec { version: job.version, ..asked.clone() })),
        notes: Vec::new(),
        kept_bytes: 0,
        users: 1,
        names: commands.iter().map(|command| command.name.clone()).collect(),
        passes: u64::MAX,
        ready_ns: limit_ns(asked),
        allowed_ns: longest_ns(asked),
        counters_every_ns: Some(COUNTERS_EVERY_NS),
        ends_by_failure: !ignores,
    };
    working::run(assignment, load, &task, live, out)
}

fn ignores_failures(job: &JobSpec) -> bool {
    job.choices.get("failures").is_some_and(|choice| choice == "ignore")
}

fn limit_ns(job: &JobSpec) -> u64 {
    job.params.get(LIMIT).copied().unwrap_or(u64::MAX)
}

/// The process that repeats the commands.
struct Runner<'a> {
    assignment: &'a Assignment,
    job: &'a JobSpec,
    commands: &'a [model::Command],
    side: Side<'a>,
    folder: PathBuf,
    delays: RefCell<Delays>,
}

impl Runner<'_> {
    /// Works until it is killed; returns only on failure.
    fn live(&self) -> i32 {
        let made = self.make().map_err(|error| error.to_string());
        self.side.live(made, || {
            self.work()?;
            send(self.side.writer, &Message::Done(self.side.user))?;
            loop {
                thread::sleep(Duration::from_secs(1));
            }
        })
    }

    fn make(&self) -> io::Result<()> {
        enter_groups(&self.assignment.enter)?;
        let at = |error: io::Error, path: &Path| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        if self.folder.starts_with(&self.assignment.work_dir) {
            fs::create_dir(&self.folder).map_err(|error| at(error, &self.folder))?;
        }
        env::set_current_dir(&self.folder).map_err(|error| at(error, &self.folder))?;
        let path = search_path(env::var_os("PATH"));
        for command in self.commands {
            let program = &command.run[0];
            if !is_there(program, &path) {
                let place = match program.contains('/') {
                    true => format!("in {}", self.folder.display()),
                    false => format!("in the search path {}", path.display()),
                };
                return Err(io::Error::other(format!("there is no program {program:?} {place}")));
            }
        }
        if let Some(path) = self.input() {
            File::open(path).map_err(|error| at(error, path))?;
        }
        self.hook(Hook::Setup)
    }

    fn input(&self) -> Option<&Path> {
        self.job.choices.get("input").filter(|path| !path.is_empty()).map(Path::new)
    }

    fn hook(&self, which: Hook) -> io::Result<()> {
        let Some(words) = hook(self.job, which) else { return Ok(()) };
        let (mut issuer, mut work) = (Issuer::new(), WorkRecord::default());
        let mut command = self.command(&words, &mut issuer)?;
        work.started_ns = sys::clock::monotonic_ns();
        issuer.run(&mut command, &mut work, limit_ns(self.job), None);
        match work.failure {
            None => Ok(()),
            Some(why) => Err(io::Error::other(format!("{which:?} ({:?}): {why}", words[2]))),
        }
    }

    /// All passes; the first failure ends them, unless failures are ignored.
    fn work(&self) -> io::Result<()> {
        let (seed, user) = (self.assignment.spec.seed, self.side.user);
        let (mut issuer, mut order) = (Issuer::new(), Order::new(seed, user, self.commands.len()));
        let warmup = self.job.params.get(WARMUP).copied().unwrap_or(0);
        let (mut planned, mut views) = (None, Views::new(self));
        for pass in 0.. {
            let mut elapsed_ns = 0;
            for index in order.next_pass() {
                self.hook(Hook::Prepare)?;
                let work = views.repeat(&mut issuer, index, pass)?;
                elapsed_ns += work.completed_ns.unwrap_or(u64::MAX).saturating_sub(work.started_ns);
                let has_failed = work.failure.is_some();
                self.side.report(work)?;
                if has_failed && !ignores_failures(self.job) {
                    return self.hook(Hook::Cleanup);
                }
            }
            if u64::from(pass) < warmup {
                continue;
            }
            let planned = *planned.get_or_insert_with(|| repetitions(self.job, elapsed_ns));
            if u64::from(pass) + 1 >= warmup.saturating_add(planned) {
                break;
            }
        }
        self.hook(Hook::Cleanup)
    }

    fn once(&self, issuer: &mut Issuer, index: usize, pass: u32) -> io::Result<WorkRecord> {
        let described = &self.commands[index];
        let mut command = self.command(&described.run, issuer)?;
        let mut delays = self.delays.borrow_mut();
        delays.begin();
        let mut work = self.side.begin(index, pass, &described.name);
        let ended = issuer.run(&mut command, &mut work, limit_ns(self.job), Some(&mut delays));
        work.usage.extend(ended.map(|ended| (PEAK.into(), ended.peak_bytes)));
        Ok(work)
    }

    /// The command in the user's folder and environment, with the mark of the run.
    fn command(&self, words: &[String], issuer: &mut Issuer) -> io::Result<Command> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env(marked::VARIABLE, &self.assignment.work_dir);
        command.stdout(Stdio::null()).stdin(match self.input() {
            Some(path) => Stdio::from(File::open(path)?),
            None => Stdio::null(),
        });
        issuer.listen_to(&mut command);
        Ok(command)
    }
}

/// Where commands run: in the user's folder, until one that worked there once cannot be repeated.
struct Views<'a> {
    runner: &'a Runner<'a>,
    /// Names in the folder before the first repetition.
    names: BTreeSet<PathBuf>,
    /// Commands that worked.
    worked: BTreeSet<usize>,
    view: Option<PrivateView>,
    was_tried: bool,
}

impl<'a> Views<'a> {
    fn new(runner: &'a Runner<'a>) -> Self {
        let (names, worked) = (names(&runner.folder), BTreeSet::new());
        Self { runner, names, worked, view: None, was_tried: false }
    }

    fn repeat(&mut self, issuer: &mut Issuer, index: usize, pass: u32) -> io::Result<WorkRecord> {
        let work = self.in_view(issuer, index, pass)?;
        let Some(why) = &work.failure else {
            self.worked.insert(index);
            return Ok(work);
        };
        let is_repeatable =
            ignores_failures(self.runner.job) || hook(self.runner.job, Hook::Prepare).is_some();
        if is_repeatable
            || self.was_tried
            || !self.worked.contains(&index)
            || work.completed_ns.is_none()
        {
            return Ok(work);
        }
        self.was_tried = true;
        let runner = self.runner;
        let created: BTreeSet<PathBuf> =
            names(&runner.folder).difference(&self.names).cloned().collect();
        let listed: Vec<String> = created.iter().map(|name| name.display().to_string()).collect();
        let name = &runner.commands[index].name;
        let scratch = runner.assignment.work_dir.join("view");
        match PrivateView::new(&runner.folder, scratch, created) {
            Ok(view) => {
                self.view = Some(view);
                let without = if listed.is_empty() {
                    String::new()
                } else {
                    format!(", without {}", listed.join(", "))
                };
                let text = format!(
                    "{name:?} worked once and then failed ({why}), so each further repetition sees \
                     the folder as it was before the first{without}, and what it changes there is \
                     discarded; --prepare CMD would undo it in the folder itself"
                );
                send(runner.side.writer, &Message::Note(text))?;
                self.in_view(issuer, index, pass)
            }
            Err(error) => {
                env::set_current_dir(&runner.folder)?;
                let text = format!(
                    "{name:?} worked once and then failed: undo with --prepare CMD what it changes \
                     (a private view of its folder is not available: {error})"
                );
                send(runner.side.writer, &Message::Note(text))?;
                Ok(work)
            }
        }
    }

    fn in_view(&self, issuer: &mut Issuer, index: usize, pass: u32) -> io::Result<WorkRecord> {
        let Some(view) = &self.view else { return self.runner.once(issuer, index, pass) };
        view.enter()?;
        let work = self.runner.once(issuer, index, pass);
        view.leave()?;
        work
    }
}
