//! The stage: everything that the runs of one invocation make.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use agent::{Assignment, Freeze, Waiter};
use counters::Sources;
use keep::folders::state_dir;
use keep::proc_stat::start_ticks;
use keep::{AgentProgram, CleanupProcess, Duty, Journal, Resource, Swept, sweep_leftovers, unique};
use model::{Environment, GroupSpec, SandboxSpec, Spec, SubjectSpec, Unavailable};
use serde::{Deserialize, Serialize};
use sys::clock::monotonic_ns;

use crate::agent_process::{AgentProcess, Outcome};
use crate::cgroup::{Sandbox, wanted_controllers};
use crate::group::ExistingGroup;
use crate::machine::{Machine, unwritten_kb};
use crate::room::Room;
use crate::run_lines::Sink;
use crate::work_dir::{WorkDir, unusable};

const SETTLE_NS: u64 = 3_000_000_000;
const SETTLE_TICK_NS: u64 = 50_000_000;
/// Looks without less unwritten memory after which nobody is writing it: the kernel leaves the
/// files of other programs for half a minute (`dirty_expire_centisecs`).
const SETTLE_LOOKS: u32 = 6;
/// A system with less unwritten memory than this is settled, in KiB.
const SETTLED_KB: u64 = 32 << 10;

/// What a stage needs to know; between two machines, what the one that asks decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageOptions {
    /// Where the files of loads and probes go; by default a folder of this user in `/var/tmp`.
    pub work_dir: Option<PathBuf>,
    /// Size of a temporary swap file in bytes.
    pub swap_bytes: Option<u64>,
    /// Facts of the system under test that cannot be observed from inside it.
    #[serde(skip)]
    pub facts: Environment,
    /// What it could not have.
    #[serde(skip)]
    pub missed: Vec<Unavailable>,
    /// Where options come from, for the headers of runs.
    #[serde(default)]
    pub origins: BTreeMap<String, String>,
    /// Test hook: freeze the prober.
    pub freeze: Option<Freeze>,
    /// Whether runs continue after the user has logged out.
    #[serde(skip)]
    pub outlives_login: bool,
}

/// A stage that cannot be set up, or a run that cannot be executed on it: why, with the next step.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StageError(String);

fn unavailable(why: impl ToString) -> StageError {
    StageError(why.to_string())
}

fn at(step: &'static str) -> impl Fn(io::Error) -> StageError {
    move |error| StageError(format!("{step}: {error}"))
}

/// The stage of one invocation; all it created is removed when it is dropped, by its journal.
pub struct Stage {
    program: AgentProgram,
    journal: Journal,
    work_dir: WorkDir,
    options: StageOptions,
    runs: u32,
    room: Room,
    swept: Swept,
}

impl Stage {
    /// Sweeps leftovers, locks the work directory, starts the cleanup process, enables delay
    /// accounting where permitted, and adds the swap file. Fails when the work directory or the
    /// swap file is not available, or the user interrupts.
    pub fn set(
        mut options: StageOptions,
        program: AgentProgram,
        waiter: &Waiter,
    ) -> Result<Self, StageError> {
        let swept = sweep_leftovers();
        let work_dir = match &options.work_dir {
            Some(path) => WorkDir::open(path),
            None => WorkDir::open_default(),
        };
        let work_dir = work_dir.map_err(unavailable)?;
        let path = Journal::new_path(&state_dir());
        let cleanup = CleanupProcess::start(&program, &Duty::Journal(path.clone()))
            .map_err(at("start the cleanup process"))?;
        let mut journal = Journal::create(path, Some(cleanup)).map_err(|error| {
            let (folder, next) = (state_dir(), "name another one in XDG_STATE_HOME");
            let folder = folder.display();
            unavailable(format!("the state directory {folder} cannot be used: {error}; {next}"))
        })?;
        // Before any prober starts.
        if let Err(error) = journal.count_delays() {
            let capability = "delay accounting".to_owned();
            options.missed.push(Unavailable { capability, reason: error.to_string() });
        }
        if let Some(size_bytes) = options.swap_bytes {
            let path = work_dir.path.join(format!("swap-{}", std::process::id()));
            let added = journal.add_swap(&path, size_bytes, &|| waiter.stop_requested());
            added.map_err(|error| {
                let next = match rustix::process::geteuid().is_root() {
                    true => {
                        "it needs the right to add swap areas (CAP_SYS_ADMIN), and space on a disk"
                    }
                    false => "it needs root and space on a disk",
                };
                unavailable(format!("no swap file of {size_bytes} bytes: {error}; {next}"))
            })?;
        }
        Ok(Self { program, journal, work_dir, options, runs: 0, room: Room::Present, swept })
    }

    /// Creates a sandbox and removes it again; returns a note if systemd had to provide the group.
    /// Fails when no sandbox can be created, and lists what was tried.
    pub fn try_sandbox(&mut self, spec: &SandboxSpec) -> Result<Option<String>, StageError> {
        let mut note = None;
        if self.room == Room::Present {
            self.room = Room::find(&wanted_controllers(spec), self.options.outlives_login);
            note = self.room.note();
        }
        let sandbox = self.make_sandbox(spec, &format!("thrashlab-{}-try", std::process::id()))?;
        self.remove(sandbox.groups).map(|()| note)
    }

    fn make_sandbox(&mut self, spec: &SandboxSpec, name: &str) -> Result<Sandbox, StageError> {
        Sandbox::make(spec, name, &mut self.journal).map_err(|mut tried| {
            if let Room::Unavailable(why) = &self.room {
                tried.push(why.clone());
            }
            let next = match rustix::process::geteuid().is_root() {
                true => {
                    "root needs a writable /sys/fs/cgroup, which most containers do not have: \
                     --subject host needs none"
                }
                false => {
                    "run as root, or in a login session with a systemd user manager \
                     (systemctl --user status)"
                }
            };
            unavailable(format!("no sandbox: {}; {next}", tried.join("; ")))
        })
    }

    /// Sets each kernel parameter and restores it; returns the problems.
    pub fn try_parameters(&mut self, wanted: &BTreeMap<String, String>) -> Vec<StageError> {
        let set_back = |(name, value): (&String, &String)| {
            let made = self.journal.set_parameter(name, value).map_err(unavailable)?;
            self.journal.remove(made).map_err(at("restore a kernel parameter"))
        };
        wanted.iter().map(set_back).filter_map(Result::err).collect()
    }

    /// Notes for the user: leftovers of killed runs, and a work directory in memory.
    pub fn notes(&self) -> Vec<String> {
        let removed = self.swept.removed.iter();
        let failed = self.swept.failed.iter();
        let removed = removed.map(|what| format!("removed what a killed run had left: {what}"));
        let failed =
            failed.map(|what| format!("what a killed run had left cannot be removed: {what}"));
        let memory = "the work directory is in memory (tmpfs), so writing loads reach no disk; \
                      name one on a disk with --work-dir";
        let in_memory = self.work_dir.in_memory().then(|| memory.to_owned());
        removed.chain(failed).chain(in_memory).collect()
    }

    /// Makes one run; its lines go to `sink`. Whatever happens to a run that has begun is an
    /// [`Outcome`]. Fails when it cannot start, or as `sink`.
    pub fn run(
        &mut self,
        spec: &Spec,
        run_id: &str,
        waiter: &Waiter,
        sink: &mut Sink<'_>,
    ) -> Result<Outcome, StageError> {
        self.runs += 1;
        self.journal.see_to_cleanup(&self.program).map_err(at("start the cleanup process"))?;
        let mut made = Vec::new();
        let outcome = self.make_run(spec, run_id, &mut made, waiter, sink);
        self.remove(made)?;
        outcome
    }

    /// Waits until the last load's data is on disk, while it is being written, at most
    /// [`SETTLE_NS`].
    pub fn settle(&self, waiter: &Waiter) {
        let until_ns = monotonic_ns() + SETTLE_NS;
        let (mut least_kb, mut looks) = (u64::MAX, 0);
        while monotonic_ns() < until_ns && !waiter.stop_requested() {
            let kb = unwritten_kb();
            looks = if kb < least_kb { 0 } else { looks + 1 };
            least_kb = least_kb.min(kb);
            if kb < SETTLED_KB || looks >= SETTLE_LOOKS {
                return;
            }
            waiter.wait(None, monotonic_ns() + SETTLE_TICK_NS);
        }
    }

    /// Removes everything; returns what cannot be removed, which stays in the journal.
    pub fn remove_all(&mut self) -> Vec<String> {
        self.journal.remove_all()
    }

    fn remove(&mut self, made: Vec<Resource>) -> Result<(), StageError> {
        let mut made = made.into_iter().rev();
        made.try_for_each(|made| self.journal.remove(made)).map_err(at("clean up after the run"))
    }

    /// Executes one run; `made` collects what to remove after it.
    fn make_run(
        &mut self,
        spec: &Spec,
        run_id: &str,
        made: &mut Vec<Resource>,
        waiter: &Waiter,
        sink: &mut Sink<'_>,
    ) -> Result<Outcome, StageError> {
        let name = format!("thrashlab-{}-{}", std::process::id(), self.runs);
        let limits = spec.subject.sandbox();
        let sandbox = limits.map(|limits| self.make_sandbox(limits, &name)).transpose()?;
        made.extend(sandbox.iter().flat_map(|sandbox| sandbox.groups.clone()));
        let key = unique::free_key();
        for queue in [Resource::Queue { key }, Resource::Segment { key }] {
            self.journal.note(&queue).map_err(at("write the journal"))?;
            made.push(queue);
        }
        let path = unique::free_path(&self.work_dir.path, &name);
        let (directory, ()) = self
            .journal
            .make(Resource::Directory(path.clone().into()), || fs::create_dir(&path))
            .map_err(unusable(&self.work_dir.path))
            .map_err(unavailable)?;
        made.push(directory);
        for (name, value) in &spec.sysctls {
            let set = self.journal.set_parameter(name, value);
            made.push(set.map_err(unavailable)?);
        }
        let sources = match (&spec.subject, &sandbox) {
            (SubjectSpec::Group(group), _) => self.lower_limits(group, made)?,
            (_, Some(sandbox)) => sandbox.sources.clone(),
            _ => Sources::machine("/proc"),
        };
        let assignment = self.assignment(spec, run_id, (sandbox.as_ref(), sources), path, key)?;
        self.run_agent(&assignment, waiter, sink)
    }

    /// Lowers the limits of an existing group, as it is now; returns where its counters are.
    fn lower_limits(
        &mut self,
        spec: &GroupSpec,
        made: &mut Vec<Resource>,
    ) -> Result<Sources, StageError> {
        let group = ExistingGroup::find(&spec.name).map_err(unavailable)?;
        for (path, bytes) in group.limits(spec).map_err(unavailable)? {
            made.extend(self.journal.lower_group_limit(&path, bytes).map_err(unavailable)?);
        }
        Ok(group.sources)
    }

    fn assignment(
        &self,
        spec: &Spec,
        run_id: &str,
        (sandbox, sources): (Option<&Sandbox>, Sources),
        work_dir: PathBuf,
        queue_key: i32,
    ) -> Result<Assignment, StageError> {
        let machine = Machine::read().map_err(unavailable)?;
        let may_swap = sandbox.is_none_or(|sandbox| sandbox.may_swap);
        let limits = spec.subject.sandbox();
        let limit_milli = limits.and_then(|limits| limits.cpus_milli).unwrap_or(u64::MAX);
        let cpus_milli = limit_milli.min(u64::from(machine.cpus) * 1000);
        let mut missed = self.options.missed.clone();
        missed.extend(sandbox.map_or_else(Vec::new, |made| made.missed.clone()));
        if sandbox.is_none() && !matches!(spec.subject, SubjectSpec::Group(_)) {
            let reason = format!("the subject is the {}", spec.subject.kind());
            missed.push(Unavailable { capability: "memcg".to_owned(), reason });
        }
        let mut environment = self.options.facts.clone();
        environment.insert("cpus_milli".to_owned(), cpus_milli.to_string());
        Ok(Assignment {
            run_id: run_id.to_owned(),
            spec: spec.clone(),
            cpus_milli,
            free_disk_bytes: self.work_dir.free_bytes().map_err(unavailable)?,
            work_dir,
            swap_bytes: if may_swap { machine.swap_bytes } else { 0 },
            queue_key,
            enter: sandbox.map_or_else(Vec::new, |made| made.enter.clone()),
            sources,
            environment,
            missed,
            origins: self.options.origins.clone(),
            freeze: self.options.freeze,
        })
    }

    fn run_agent(
        &mut self,
        assignment: &Assignment,
        waiter: &Waiter,
        sink: &mut Sink<'_>,
    ) -> Result<Outcome, StageError> {
        let mut agent =
            AgentProcess::start(&self.program, assignment).map_err(at("start the agent"))?;
        let process = start_ticks(agent.pid())
            .map(|start_ticks| Resource::Process { pid: agent.pid(), start_ticks });
        if let Some(process) = &process {
            self.journal.note(process).map_err(at("write the journal"))?;
        }
        let outcome = agent.listen(assignment, waiter, sink).map_err(|error| {
            let next = "name a folder with enough space with --output DIR";
            unavailable(format!("the results cannot be written: {error}; {next}"))
        })?;
        drop(agent);
        if let Some(process) = process {
            self.journal.gone(process).map_err(at("write the journal"))?;
        }
        Ok(outcome)
    }
}
