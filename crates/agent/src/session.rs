//! A run of a job with a script: reports of the users become lines until all had a first pass.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::fd::AsFd;

use model::{EndStatus, JobSpec, Line, Measure, PassRecord, Script, WorkRecord};
use sys::clock::monotonic_ns;
use workloads::{CORPUS_BYTES, Resolved, Workload, resolve, search_path};

use crate::assignment::{AgentError, Assignment};
use crate::load::{LoadGroup, LoadPlan};
use crate::observer::Observer;
use crate::output::Output;
use crate::users::{COMMAND, Message, PASS, STARTED_NS, Users};
use crate::waiter::{End, Waiter, Woken};

/// Time that a user may lose between the commands of one pass, in ns.
const SLACK_NS: u64 = 30_000_000_000;

pub(crate) fn run(
    assignment: &Assignment,
    load: &'static Workload,
    (job, asked): (&Workload, &JobSpec),
    out: impl Write,
) -> Result<EndStatus, AgentError> {
    let script = asked
        .script
        .as_ref()
        .ok_or_else(|| AgentError::Job(format!("{} needs a script", asked.name)))?;
    let path = search_path(std::env::var_os("PATH"));
    let resolved = resolve(script, &path).map_err(AgentError::Job)?;
    let kept_bytes = CORPUS_BYTES * u64::from(script.users);
    let load = LoadPlan::new(assignment, load, kept_bytes)?;

    let output = Output::new(out);
    // Before the first fork: from here on a stop request is never lost.
    let waiter = Waiter::new()?;
    let mut users = Users::start(assignment, &resolved, &path)
        .map_err(|error| AgentError::Job(format!("start the users: {error}")))?;
    let mut observer = Observer::new(assignment, output, waiter, None, Vec::new());
    let measure = Measure::Job(Box::new(JobSpec {
        version: job.version,
        script: Some(resolved.script.clone()),
        ..asked.clone()
    }));
    observer.write_header(&load, measure, &notes(assignment, &resolved, kept_bytes))?;
    let status = match users.await_ready(&observer.waiter) {
        Ok(()) => observer.under_load(&load, |observer, load, measuring_ns| {
            let allowed_ns = script.longest_pass_ns().saturating_add(SLACK_NS);
            let working = Working {
                until_ns: observer.output.moment_ns(measuring_ns).saturating_add(allowed_ns),
                observer,
                load,
                users: &mut users,
                script: &resolved.script,
                done: BTreeSet::new(),
                failing: BTreeSet::new(),
                finished: BTreeSet::new(),
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

/// Choices that the subject forced, and possible failures.
fn notes(assignment: &Assignment, resolved: &Resolved, kept_bytes: u64) -> Vec<String> {
    let mut notes: Vec<String> = resolved.note.iter().cloned().collect();
    if assignment.free_disk_bytes < kept_bytes {
        notes.push(format!(
            "the users' files need up to {kept_bytes} bytes and there are {} free: commands may \
             fail; take fewer users or another --work-dir",
            assignment.free_disk_bytes
        ));
    }
    notes
}

struct Working<'m, 'a, 's, W> {
    observer: &'m mut Observer<'a, W>,
    load: &'m mut LoadGroup<'s>,
    users: &'m mut Users,
    script: &'m Script,
    until_ns: u64,
    done: BTreeSet<u32>,
    /// Commands whose failure was reported.
    failing: BTreeSet<String>,
    /// Commands of first passes that have their line, by user.
    finished: BTreeSet<(u32, String)>,
}

impl<W: Write> Working<'_, '_, '_, W> {
    /// Lets the users work; every issued command of a first pass then has its line.
    fn until_all_are_done(mut self) -> io::Result<EndStatus> {
        let end = match self.work() {
            Err(End::Io(error)) => return Err(error),
            Err(end) => end,
            Ok(()) => return Ok(EndStatus::Complete),
        };
        // Before reading the pipe: it then holds the line of a command that ends in between.
        let ended_ns = monotonic_ns();
        let under_way = self.under_way();
        self.listen()?;
        let why = match end {
            End::Timeout => "not done when the time of the session was up",
            End::Interrupted => "not done when the run was interrupted",
            End::LoadDied => "not done when the load died",
            _ => "not done when a user died",
        };
        for (worker, item, started_ns) in under_way {
            if !self.finished.contains(&(worker, item.clone())) {
                let output = &mut self.observer.output;
                output.line(&Line::Work(Box::new(WorkRecord {
                    at_ns: output.now_ns(),
                    worker,
                    item,
                    started_ns: output.relative_ns(started_ns),
                    censored_at_ns: Some(output.relative_ns(ended_ns)),
                    failure: Some(why.to_owned()),
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

    fn work(&mut self) -> Result<(), End> {
        self.users.begin().map_err(|_| End::Gone)?;
        while self.done.len() < self.users.pids.len() {
            let fd = Some(self.users.messages.as_fd());
            match self.observer.wait(self.load, fd, self.until_ns)? {
                Woken::Readable => self.listen()?,
                Woken::Time => return Err(End::Timeout),
                Woken::Signal => {
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
                    if work.pass == 0 {
                        self.finished.insert((work.worker, work.item.clone()));
                    }
                    self.write_work(work)?;
                }
                Message::Pass(pass) => self.write_pass(pass)?,
                Message::Ready | Message::NotReady(_) => {}
            }
        }
        Ok(())
    }

    fn write_work(&mut self, mut work: WorkRecord) -> io::Result<()> {
        let output = &mut self.observer.output;
        work.at_ns = output.now_ns();
        work.started_ns = output.relative_ns(work.started_ns);
        work.completed_ns = work.completed_ns.map(|moment_ns| output.relative_ns(moment_ns));
        work.censored_at_ns = work.censored_at_ns.map(|moment_ns| output.relative_ns(moment_ns));
        let warning =
            work.failure.as_ref().filter(|_| self.failing.insert(work.item.clone())).map(|why| {
                format!("command {:?} failed (first of user {}): {why}", work.item, work.worker)
            });
        output.line(&Line::Work(Box::new(work)))?;
        warning.map_or(Ok(()), |text| output.warning(text))
    }

    fn write_pass(&mut self, mut pass: PassRecord) -> io::Result<()> {
        let output = &mut self.observer.output;
        pass.at_ns = output.now_ns();
        pass.started_ns = output.relative_ns(pass.started_ns);
        pass.completed_ns = output.relative_ns(pass.completed_ns);
        self.done.insert(pass.worker);
        output.line(&Line::Pass(Box::new(pass)))
    }

    /// The running commands of first passes: user, command, and start.
    fn under_way(&self) -> Vec<(u32, String, u64)> {
        let shared = &self.users.shared;
        (0..self.users.pids.len())
            .filter(|user| shared.get(*user, PASS) == 0)
            .filter_map(|user| {
                let number = shared.get(user, COMMAND) as usize;
                let command = self.script.commands.get(number.checked_sub(1)?)?;
                Some((user as u32, command.name.clone(), shared.get(user, STARTED_NS)))
            })
            .collect()
    }
}
