//! The observer's side of processes that issue commands: their reports become lines of the run.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::fd::AsFd;

use model::{BASELINE, EndStatus, Line, Measure, PassRecord, Unavailable, WorkEnd, WorkRecord};
use sys::clock::{monotonic_ns, sleep_until_ns};
use workloads::Workload;

use crate::assignment::{AgentError, Assignment};
use crate::load::{LoadGroup, LoadPlan};
use crate::observer::{Observer, out_of_memory};
use crate::output::Output;
use crate::users::{COMMAND, Message, PASS, STARTED_NS, Side, Users};
use crate::waiter::{End, Waiter, Woken};

/// Longest time until a worker that the kernel killed is known to be dead, in ns.
const LOAD_DEATH_NS: u64 = 100_000_000;

/// A job whose processes issue commands.
pub(crate) struct Task {
    pub(crate) measure: Measure,
    /// Remarks for the header.
    pub(crate) notes: Vec<String>,
    /// What cannot be counted, for the header.
    pub(crate) missed: Vec<Unavailable>,
    /// Bytes of the disk that the load must leave.
    pub(crate) kept_bytes: u64,
    pub(crate) users: u32,
    /// The commands by number.
    pub(crate) names: Vec<String>,
    /// A command under way at the end has a line if its pass is below this number.
    pub(crate) passes: u64,
    /// Longest time until all users are ready, in ns.
    pub(crate) ready_ns: u64,
    /// Longest time of the measurement, in ns.
    pub(crate) allowed_ns: u64,
    /// Counters are written this often, in ns, besides those at start and end.
    pub(crate) counters_every_ns: Option<u64>,
    /// Whether a failed command is how the run ends.
    pub(crate) ends_by_failure: bool,
    /// Who else may be killed at the limit of memory, which is how the run ends then.
    pub(crate) watched: Option<&'static str>,
}

/// Starts the users, each of whom lives in its own process, and measures until all are done.
pub(crate) fn run(
    assignment: &Assignment,
    load: &'static Workload,
    task: &Task,
    live: impl Fn(Side<'_>) -> i32,
    out: impl Write,
) -> Result<EndStatus, AgentError> {
    let load = LoadPlan::new(assignment, load, task.kept_bytes)?;
    let output = Output::new(out);
    // Before the first fork: from here on a stop request is never lost.
    let waiter = Waiter::new()?;
    let mut users = Users::start(assignment, task.users, live)
        .map_err(|error| AgentError::Job(format!("start the users: {error}")))?;
    let mut observer = Observer::new(assignment, output, waiter, None, task.missed.clone());
    observer.write_header(&load, task.measure.clone(), &task.notes)?;
    let status = match users.await_ready(&observer.waiter, task.ready_ns) {
        Ok(()) => observer.under_load(&load, |observer, load, measuring_ns| {
            let working = Working {
                until_ns: observer.output.moment_ns(measuring_ns).saturating_add(task.allowed_ns),
                observer,
                load,
                users: &mut users,
                task,
                done: BTreeSet::new(),
                failing: BTreeSet::new(),
                finished: BTreeSet::new(),
                counters_ns: 0,
                failed: None,
            };
            let status = working.until_all_are_done()?;
            observer.write_counters(load)?;
            drop(users);
            Ok(status)
        })?,
        Err(end) => observer.not_ready(AgentError::Job, end)?,
    };
    observer.output.end(status)?;
    Ok(status)
}

struct Working<'m, 'a, 's, W> {
    observer: &'m mut Observer<'a, W>,
    load: &'m mut LoadGroup<'s>,
    users: &'m mut Users,
    task: &'m Task,
    until_ns: u64,
    done: BTreeSet<u32>,
    /// Commands whose failure was reported.
    failing: BTreeSet<String>,
    /// Commands that have their line, by user and pass.
    finished: BTreeSet<(u32, u64, String)>,
    /// When the next counters are due.
    counters_ns: u64,
    /// How the first failed command ends the run, if one does.
    failed: Option<EndStatus>,
}

impl<W: Write> Working<'_, '_, '_, W> {
    /// Lets the users work; every issued command of a first pass then has its line.
    fn until_all_are_done(mut self) -> io::Result<EndStatus> {
        let end = match self.work() {
            Err(End::Io(error)) => return Err(error),
            Err(end) => end,
            Ok(()) => return self.ended_by_itself(),
        };
        // Before reading the pipe: it then holds the line of a command that ends in between.
        let ended_ns = monotonic_ns();
        let under_way = self.under_way();
        self.listen()?;
        let why = match end {
            End::Timeout => "not done when the time of the job was up",
            End::Interrupted => "not done when the run was interrupted",
            End::LoadDied => "not done when the load died",
            _ => "not done when a user died",
        };
        for (worker, pass, item, started_ns) in under_way {
            if !self.finished.contains(&(worker, pass, item.clone())) {
                let output = &mut self.observer.output;
                output.line(&Line::Work(Box::new(WorkRecord {
                    at_ns: output.now_ns(),
                    worker,
                    pass: pass as u32,
                    item,
                    started_ns: output.relative_ns(started_ns),
                    censored_at_ns: Some(output.relative_ns(ended_ns)),
                    failure: Some(why.to_owned()),
                    ended: Some(match end {
                        End::Timeout => WorkEnd::AtLimit,
                        _ => WorkEnd::EndedByUs,
                    }),
                    ..WorkRecord::default()
                })))?;
            }
        }
        let count = self.users.pids.len();
        if matches!(end, End::Timeout) {
            let left = count - self.done.len();
            let text = format!("{left} of {count} users did not finish their first pass in time");
            self.observer.output.warning(text)?;
        }
        let death = if matches!(end, End::Gone) { self.users.dead_user() } else { None };
        self.observer.status(Err(death.map_or(end, End::Died)))
    }

    /// The status when all is done: a server may have lost a process and gone on.
    fn ended_by_itself(self) -> io::Result<EndStatus> {
        if self.observer.load_died(self.load)? {
            return Ok(EndStatus::LoadDied);
        }
        let Some(who) = self.task.watched.filter(|_| self.failed.is_none()) else {
            return Ok(self.failed.unwrap_or(EndStatus::Complete));
        };
        match self.observer.attribute_oom_kill() {
            Some(limit) => {
                self.observer.output.death(out_of_memory(who, &limit))?;
                Ok(EndStatus::OutOfMemory)
            }
            None => Ok(EndStatus::Complete),
        }
    }

    fn work(&mut self) -> Result<(), End> {
        self.users.begin().map_err(|_| End::Gone)?;
        while self.done.len() < self.users.pids.len() {
            let fd = Some(self.users.messages.as_fd());
            match self.observer.wait(self.load, fd, self.until_ns)? {
                Woken::Readable => self.listen()?,
                Woken::Time => return Err(End::Timeout),
                Woken::Signal => {
                    // A message before a death explains more than the death.
                    self.listen()?;
                    if let Some(death) = self.users.dead_user() {
                        return Err(End::Died(death));
                    }
                }
            }
        }
        Ok(())
    }

    fn listen(&mut self) -> io::Result<()> {
        for message in self.users.messages.read()? {
            match message {
                // After the last first pass, other work would be included or not by chance.
                _ if self.done.len() == self.users.pids.len() => {}
                Message::Work(work) => {
                    self.finished.insert((work.worker, work.pass.into(), work.item.clone()));
                    self.write_work(work)?;
                }
                Message::Pass(pass) => self.write_pass(pass)?,
                Message::Note(text) => self.observer.output.warning(text)?,
                Message::Failed(why) => {
                    let (status, why) = self.observer.command_failed(why);
                    self.observer.output.death(why)?;
                    self.failed.get_or_insert(status);
                }
                Message::Done(user) => drop(self.done.insert(user)),
                Message::Ready | Message::NotReady(_) => {}
            }
        }
        Ok(())
    }

    fn write_work(&mut self, mut work: WorkRecord) -> io::Result<()> {
        self.attribute_kills(&mut work)?;
        let output = &mut self.observer.output;
        work.at_ns = output.now_ns();
        work.started_ns = output.relative_ns(work.started_ns);
        work.completed_ns = work.completed_ns.map(|moment_ns| output.relative_ns(moment_ns));
        work.censored_at_ns = work.censored_at_ns.map(|moment_ns| output.relative_ns(moment_ns));
        let failure = work.failure.clone().map(|why| {
            let of_user = match self.task.users {
                1 => String::new(),
                _ => format!(" (first of user {})", work.worker),
            };
            format!("command {:?} failed{of_user}: {why}", work.item)
        });
        let (item, end) = (work.item.clone(), work.end());
        output.line(&Line::Work(Box::new(work)))?;
        if let Some(text) = failure {
            let is_first = self.failing.insert(item.clone());
            if self.task.ends_by_failure && self.failed.is_none() {
                self.failed = Some(self.write_failure(&item, &end, text)?);
            } else if is_first {
                output.warning(text)?;
            }
        }
        if let Some(every_ns) = self.task.counters_every_ns
            && monotonic_ns() >= self.counters_ns
        {
            self.counters_ns = monotonic_ns() + every_ns;
            self.observer.write_counters(self.load)?;
        }
        Ok(())
    }

    /// Takes kills for lack of memory off a command that continued if the load died meanwhile: both
    /// are in the same sandbox, and the kernel kills processes of the load first.
    fn attribute_kills(&mut self, work: &mut WorkRecord) -> io::Result<()> {
        let Some(WorkEnd::KilledForMemory { code: Some(code), .. }) = work.ended else {
            return Ok(());
        };
        let until_ns = monotonic_ns() + LOAD_DEATH_NS;
        while !self.observer.load_died(self.load)? {
            if !self.has_load() || monotonic_ns() >= until_ns {
                return Ok(());
            }
            sleep_until_ns(monotonic_ns() + LOAD_DEATH_NS / 20);
        }
        work.ended = Some(WorkEnd::Exited { code });
        work.failure = (code != 0).then(|| format!("exit code {code}"));
        Ok(())
    }

    /// Writes why a failed command ends the run; returns how the run ends.
    fn write_failure(&mut self, item: &str, end: &WorkEnd, text: String) -> io::Result<EndStatus> {
        if self.observer.load_died(self.load)? {
            self.observer.output.warning(text)?;
            return Ok(EndStatus::LoadDied);
        }
        let Some(limit) = self.observer.attribute_oom_kill() else {
            if *end == WorkEnd::AtLimit {
                self.observer.output.warning(text)?;
                return Ok(EndStatus::Timeout);
            }
            self.observer.output.death(text)?;
            return Ok(EndStatus::Failed);
        };
        self.observer.output.warning(text)?;
        let item = match end {
            WorkEnd::KilledForMemory { code: Some(_), .. } => format!("a process of {item:?}"),
            _ => format!("{item:?}"),
        };
        let who = self.task.watched.unwrap_or(&item);
        self.observer.output.death(out_of_memory(who, &limit))?;
        Ok(EndStatus::OutOfMemory)
    }

    fn write_pass(&mut self, mut pass: PassRecord) -> io::Result<()> {
        let output = &mut self.observer.output;
        pass.at_ns = output.now_ns();
        pass.started_ns = output.relative_ns(pass.started_ns);
        pass.completed_ns = output.relative_ns(pass.completed_ns);
        output.line(&Line::Pass(Box::new(pass)))
    }

    fn has_load(&self) -> bool {
        self.observer.assignment.spec.load.name != BASELINE
    }

    /// The running commands whose records are due: user, pass, command, and start.
    fn under_way(&self) -> Vec<(u32, u64, String, u64)> {
        let shared = &self.users.shared;
        (0..self.users.pids.len())
            .filter(|user| shared.get(*user, PASS) < self.task.passes)
            .filter_map(|user| {
                let number = shared.get(user, COMMAND) as usize;
                let name = self.task.names.get(number.checked_sub(1)?)?;
                let [pass, started_ns] = [PASS, STARTED_NS].map(|slot| shared.get(user, slot));
                Some((user as u32, pass, name.clone(), started_ns))
            })
            .collect()
    }
}
