//! A run of the user's own commands: one process repeats them until their times are known.

use std::cell::{OnceCell, RefCell};
use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use counters::Sources;
use jobs::Order;
use keep::io_results::at;
use keep::marked;
use model::{
    BASELINE, CommandSpec, EndStatus, Hook, Measure, SubjectSpec, Unavailable, WorkRecord,
};
use rustix::fs::OFlags;
use sys::command_counters::CommandCounters;
use workloads::{
    COMMAND, Metric, Service, Workload, commands, hook, longest_command_ns, metrics, repetitions,
    search_path, service, why_not_there,
};

use crate::assignment::{AgentError, Assignment};
use crate::captured::Captured;
use crate::children::{enter_groups, send};
use crate::command_views::Views;
use crate::delays::Delays;
use crate::issued::Issuer;
use crate::running_service::RunningService;
use crate::users::{Message, Side};
use crate::working::{self, Task};

/// Time from one reading of the counters to the next, in ns.
const COUNTERS_EVERY_NS: u64 = 100_000_000;
/// Longest part of a command line in a message, in characters.
const SHOWN_CHARS: usize = 200;
/// The end of the hooks' output that is kept, in bytes.
const HOOK_BYTES: usize = 4096;
/// Name of a repetition's largest resident memory.
const PEAK: &str = "peak_bytes";

pub(crate) fn run(
    assignment: &Assignment,
    load: &'static Workload,
    asked: &CommandSpec,
    out: impl Write,
) -> Result<EndStatus, AgentError> {
    let commands = commands(asked).map_err(AgentError::Job)?;
    let metrics = metrics(asked).map_err(AgentError::Job)?;
    let service = service(asked).map_err(AgentError::Job)?;
    let watched = match (&service, &assignment.spec.subject) {
        (Some(_), _) => Some("a process of the service"),
        (_, SubjectSpec::Group(_)) => Some("a process of the group"),
        _ => None,
    };
    // In a guest each instruction is counted from outside.
    let counts = !matches!(assignment.spec.subject, SubjectSpec::Vm(_));
    let live = |side: Side<'_>| {
        let folder = match asked.folder() {
            "" => assignment.work_dir.join("command"),
            folder => PathBuf::from(folder),
        };
        let wanted = Wanted { commands: &commands, metrics: &metrics, service: service.as_ref() };
        // In the process that waits for the commands: their ends are reported to it.
        // What is watched has counters of its own: it is not what delays its clients.
        let delays = RefCell::new(match watched {
            Some(_) => {
                Delays::open(&Sources::machine(&assignment.sources.proc_root), false, counts)
            }
            None => {
                Delays::open(&assignment.sources, assignment.spec.load.name == BASELINE, counts)
            }
        });
        let hooks = Captured::new(HOOK_BYTES).ok().map(Rc::new);
        let running = OnceCell::new();
        Runner { assignment, job: asked, wanted, side, folder, running, hooks, delays }.live()
    };
    let task = Task {
        measure: Measure::Command(Box::new(asked.clone().with_version(COMMAND.version))),
        notes: Vec::new(),
        missed: counts.then(missing_counters).flatten().into_iter().collect(),
        kept_bytes: 0,
        users: 1,
        names: commands.iter().map(|command| command.name.clone()).collect(),
        passes: u64::MAX,
        ready_ns: asked.limit_ns().saturating_add(asked.start_limit_ns()),
        allowed_ns: longest_command_ns(asked),
        counters_every_ns: Some(COUNTERS_EVERY_NS),
        ends_by_failure: !asked.ignores_failures(),
        watched,
    };
    working::run(assignment, load, &task, live, out)
}

/// What cannot be counted here, unless the CPU's counters are there.
fn missing_counters() -> Option<Unavailable> {
    let error = CommandCounters::open().err()?;
    let next = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "sysctl kernel.perf_event_paranoid=2 permits them, but a container's seccomp filter may not"
        }
        _ => "this CPU has none here; most virtual machines lack them",
    };
    Some(Unavailable {
        capability: "instructions, cycles, branches, cache misses".to_owned(),
        reason: format!("perf_event_open: {error}: {next}"),
    })
}

/// Why the process stops.
enum Stop {
    /// What the user named, a command line, a file or a folder, failed or is missing.
    Failed(String),
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// For `map_err`: what the user named is not available.
fn of_user(what: &str) -> impl Fn(io::Error) -> Stop {
    move |error| Stop::Failed(format!("{what}: {error}"))
}

/// What the job asks for.
struct Wanted<'a> {
    commands: &'a [model::Command],
    /// Figures in their output.
    metrics: &'a [Metric],
    /// The server whose clients they are.
    service: Option<&'a Service>,
}

/// The process that repeats the commands.
struct Runner<'a> {
    assignment: &'a Assignment,
    job: &'a CommandSpec,
    wanted: Wanted<'a>,
    side: Side<'a>,
    folder: PathBuf,
    running: OnceCell<RunningService>,
    /// What the hooks write: also later, if they left something running.
    hooks: Option<Rc<Captured>>,
    delays: RefCell<Delays>,
}

impl Runner<'_> {
    /// Works until it is killed; returns only on failure.
    fn live(&self) -> i32 {
        let made = self.make().map_err(|stop| match stop {
            Stop::Failed(why) => Message::Failed(why),
            Stop::Io(error) => Message::NotReady(error.to_string()),
        });
        self.side.live(made, || {
            match self.work() {
                Ok(()) => {}
                Err(Stop::Failed(why)) => send(self.side.writer, &Message::Failed(why))?,
                Err(Stop::Io(error)) => return Err(error),
            }
            send(self.side.writer, &Message::Done(self.side.user))?;
            loop {
                thread::sleep(Duration::from_secs(1));
            }
        })
    }

    fn make(&self) -> Result<(), Stop> {
        // The limits are for the service, not for its clients.
        if self.wanted.service.is_none() {
            enter_groups(&self.assignment.enter)?;
        }
        if self.folder.starts_with(&self.assignment.work_dir) {
            fs::create_dir(&self.folder).map_err(at(self.folder.display()))?;
        }
        let folder = format!("the folder of the command, {}", self.folder.display());
        env::set_current_dir(&self.folder).map_err(of_user(&folder))?;
        let path = search_path(env::var_os("PATH"));
        let of_commands = self.wanted.commands.iter().map(|command| &command.run);
        let of_service = self.wanted.service.iter().map(|service| &service.run);
        for program in of_commands.chain(of_service).map(|words| &words[0]) {
            let place = match program.contains('/') {
                true => format!("in {}", self.folder.display()),
                false => format!("in the search path {}", path.display()),
            };
            let place = match &self.assignment.spec.subject {
                SubjectSpec::Vm(vm) => match &vm.root {
                    Some(root) => format!("{place} of the guest's root {}", root.name),
                    None => format!("{place} of the guest, which has no root (vm:root=NAME)"),
                },
                _ => place,
            };
            if let Some(why) = why_not_there(program, &path, &place) {
                return Err(Stop::Failed(why));
            }
        }
        if let Some(path) = self.input() {
            self.open(path)?;
        }
        self.hook(Hook::Setup)?;
        self.start_service()
    }

    fn start_service(&self) -> Result<(), Stop> {
        let Some(service) = self.wanted.service else { return Ok(()) };
        let limit_ns = self.job.start_limit_ns();
        let started = RunningService::start(
            service,
            self.prepared(&service.run),
            &self.assignment.enter,
            |words| self.prepared(words),
            limit_ns,
        );
        match started {
            Ok(started) => {
                let _ = self.running.set(started);
                Ok(())
            }
            Err(why) => {
                // What --setup did is undone; why the service failed says more than a second failure.
                let _ = self.hook(Hook::Cleanup);
                Err(Stop::Failed(why))
            }
        }
    }

    /// Opens the input without waiting for another process. Fails for a FIFO, whose open would wait
    /// for a writer, and whose contents are gone after the first repetition.
    fn open(&self, input: &Path) -> Result<File, Stop> {
        let what = format!("the input of the command, {}", input.display());
        let mut options = File::options();
        options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
        let file = options.open(input).map_err(of_user(&what))?;
        if file.metadata()?.file_type().is_fifo() {
            let why = format!("{what}: a FIFO can be read once only; write it into a file first");
            return Err(Stop::Failed(why));
        }
        rustix::io::ioctl_fionbio(&file, false).map_err(io::Error::from)?;
        Ok(file)
    }

    fn input(&self) -> Option<&Path> {
        Some(self.job.input()).filter(|path| !path.is_empty()).map(Path::new)
    }

    fn hook(&self, which: Hook) -> Result<(), Stop> {
        let Some(words) = hook(self.job, which) else { return Ok(()) };
        let issuer = Issuer::keeping(self.hooks.clone()).beside(self.service_output());
        let mut work = WorkRecord::default();
        let mut command = self.command(&words, &issuer)?;
        work.started_ns = sys::clock::monotonic_ns();
        issuer.run(&mut command, &mut work, self.job.limit_ns(), None);
        match work.failure {
            None => Ok(()),
            Some(why) => {
                let line: String = words[2].chars().take(SHOWN_CHARS).collect();
                let name = which.name();
                Err(Stop::Failed(format!("the {name} command {line:?} failed: {why}")))
            }
        }
    }

    fn service_output(&self) -> Option<Rc<Captured>> {
        self.running.get().map(|service| service.output.clone())
    }

    /// All passes and what follows them; returns the first failure.
    fn work(&self) -> Result<(), Stop> {
        let worked = self.passes();
        if let Some(killed) = self.running.get().and_then(RunningService::stop) {
            send(self.side.writer, &Message::Note(killed))?;
        }
        let cleaned = self.hook(Hook::Cleanup);
        worked.and(cleaned)
    }

    /// All passes; the first failure ends them, unless failures are ignored.
    fn passes(&self) -> Result<(), Stop> {
        let (seed, user) = (self.assignment.spec.seed, self.side.user);
        let issuer = match self.wanted.metrics.is_empty() {
            true => Issuer::new(),
            false => Issuer::with_output()?,
        };
        let is_over = || self.running.get().is_some_and(|service| service.death().is_some());
        let issuer = issuer.beside(self.hooks.iter().cloned().chain(self.service_output()));
        let issuer = if self.running.get().is_some() { issuer.until(&is_over) } else { issuer };
        let mut order = Order::new(seed, user, self.wanted.commands.len());
        let warmup = self.job.warmup_runs();
        let scratch = self.assignment.work_dir.join("view");
        let mut views = Views::new(&self.folder, scratch, self.side.writer);
        let ignores = self.job.ignores_failures();
        let is_repeatable = ignores || hook(self.job, Hook::Prepare).is_some();
        let mut planned = None;
        for pass in 0.. {
            let mut elapsed_ns = 0;
            for index in order.next_pass() {
                self.hook(Hook::Prepare)?;
                let name = self.wanted.commands[index].name.as_str();
                let once = || self.once(&issuer, index, pass);
                let work = views.repeat((index, name), is_repeatable, &once)?;
                elapsed_ns += work.completed_ns.unwrap_or(u64::MAX).saturating_sub(work.started_ns);
                let has_failed = work.failure.is_some();
                let death = self.running.get().and_then(RunningService::death);
                if let Some(why) = &death {
                    // Before the failure of its client.
                    send(self.side.writer, &Message::Failed(why.clone()))?;
                }
                self.side.report(work)?;
                if death.is_some() {
                    return Ok(());
                }
                if has_failed && !ignores {
                    return Ok(());
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
        Ok(())
    }

    fn once(&self, issuer: &Issuer<'_>, index: usize, pass: u32) -> Result<WorkRecord, Stop> {
        let described = &self.wanted.commands[index];
        let mut command = self.command(&described.run, issuer)?;
        let mut delays = self.delays.borrow_mut();
        delays.begin();
        let mut work = self.side.begin(index, pass, &described.name);
        let ended = issuer.run(&mut command, &mut work, self.job.limit_ns(), Some(&mut delays));
        work.usage.extend(ended.map(|ended| (PEAK.into(), ended.peak_bytes)));
        if work.failure.is_none() {
            self.add_figures(&mut work, &issuer.output());
        }
        Ok(work)
    }

    /// Adds what the command printed; it failed if a figure is missing.
    fn add_figures(&self, work: &mut WorkRecord, output: &str) {
        for metric in self.wanted.metrics {
            match metric.find(output) {
                Some(value) => drop(work.figures.insert(metric.name.clone(), value)),
                None => {
                    let name = &metric.name;
                    work.failure = Some(format!("it printed nothing that is the metric {name}"));
                }
            }
        }
    }

    /// A program in the user's folder and environment, with the mark of the run.
    fn prepared(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env(marked::VARIABLE, &self.assignment.work_dir);
        command.stdin(Stdio::null());
        command
    }

    /// The command with its input, whose output is listened to.
    fn command(&self, words: &[String], issuer: &Issuer<'_>) -> Result<Command, Stop> {
        let mut command = self.prepared(words);
        if let Some(path) = self.input() {
            command.stdin(self.open(path)?);
        }
        issuer.listen_to(&mut command);
        Ok(command)
    }
}
