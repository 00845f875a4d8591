//! The measuring phase of a job: what the users tell becomes lines, until all have finished their
//! first pass.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::fd::AsFd;

use model::{EndStatus, Line, PassRecord, Script, WorkRecord};
use sys::clock::monotonic_ns;

use crate::job_user::{COMMAND, PASS, STARTED_NS};
use crate::job_users::{Users, Word};
use crate::load_group::LoadGroup;
use crate::observer::Observer;
use crate::waiter::Woken;

/// Time that a user may lose between commands in one pass, in ns.
const SLACK_NS: u64 = 30_000_000_000;

/// What is needed while the users work.
pub(crate) struct Working<'m, 'a, 's, W> {
    observer: &'m mut Observer<'a, W>,
    load: &'m mut LoadGroup<'s>,
    users: &'m mut Users,
    script: &'m Script,
    until_ns: u64,
    /// Users that have finished their first pass.
    done: BTreeSet<u32>,
    /// Commands of which it was said that they fail.
    failing: BTreeSet<String>,
}

impl<'m, 'a, 's, W: Write> Working<'m, 'a, 's, W> {
    pub(crate) fn new(
        observer: &'m mut Observer<'a, W>,
        load: &'m mut LoadGroup<'s>,
        users: &'m mut Users,
        script: &'m Script,
        origin_ns: u64,
    ) -> Self {
        let until_ns = origin_ns.saturating_add(script.longest_pass_ns()).saturating_add(SLACK_NS);
        let (done, failing) = (BTreeSet::new(), BTreeSet::new());
        Self { observer, load, users, script, until_ns, done, failing }
    }

    /// Lets the users work; how it ended.
    pub(crate) fn until_all_are_done(mut self) -> io::Result<EndStatus> {
        if self.users.begin().is_err() {
            return Ok(EndStatus::Killed);
        }
        loop {
            if self.done.len() == self.users.count() {
                return Ok(EndStatus::Complete);
            }
            match self.observer.waiter.wait(Some(self.users.words.as_fd()), self.until_ns) {
                Woken::Readable => self.listen()?,
                Woken::Time => {
                    self.listen()?;
                    self.give_up()?;
                    return Ok(EndStatus::Timeout);
                }
                Woken::Signal => {
                    if self.observer.waiter.stop_requested() {
                        return Ok(EndStatus::Interrupted);
                    }
                    if self.observer.load_died(self.load)? {
                        return Ok(EndStatus::LoadDied);
                    }
                    if let Some(why) = self.users.dead_user() {
                        self.listen()?;
                        self.observer.output.warning(why)?;
                        return Ok(EndStatus::Killed);
                    }
                }
            }
        }
    }

    /// Writes what the users have told.
    fn listen(&mut self) -> io::Result<()> {
        for word in self.users.words.read()? {
            match word {
                // Nothing is done after the last first pass: it would be there or not by chance.
                _ if self.done.len() == self.users.count() => {}
                Word::Work(work) => self.write_work(work)?,
                Word::Pass(pass) => self.write_pass(pass)?,
                Word::Ready | Word::NotReady(_) => {}
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

    /// Writes the commands of first passes that are under way when the time is up.
    fn give_up(&mut self) -> io::Result<()> {
        let now_ns = monotonic_ns();
        for user in 0..self.users.count() {
            let board = &self.users.board;
            let number = board.get(user, COMMAND) as usize;
            let (started_ns, pass) = (board.get(user, STARTED_NS), board.get(user, PASS));
            let Some(command) =
                number.checked_sub(1).and_then(|index| self.script.commands.get(index))
            else {
                continue;
            };
            if pass != 0 {
                continue;
            }
            self.write_work(WorkRecord {
                at_ns: 0,
                worker: user as u32,
                pass: 0,
                item: command.name.clone(),
                started_ns,
                completed_ns: None,
                censored_at_ns: Some(now_ns),
                failure: Some("not done when the time of the session was up".to_owned()),
                usage: [].into(),
            })?;
        }
        let left = self.users.count() - self.done.len();
        self.observer.output.warning(format!(
            "{left} of {} users did not finish their first pass in time",
            self.users.count()
        ))
    }
}
