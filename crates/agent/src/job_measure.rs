//! The measuring phase of a job: what the users tell becomes lines, until all have finished their
//! first pass.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::fd::AsFd;

use model::{EndStatus, Line, PassRecord, Script, WorkRecord};
use sys::clock::monotonic_ns;

use crate::job_user::{COMMAND, PASS, STARTED_NS, Word};
use crate::job_users::Users;
use crate::load_group::LoadGroup;
use crate::observer::{Death, Observer};
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
    /// Commands of first passes that have their line, each with its user.
    finished: BTreeSet<(u32, String)>,
}

/// Why the work ended.
enum End {
    Complete,
    Timeout,
    Interrupted,
    LoadDied,
    /// The users cannot be let begin.
    UsersGone,
    UserDied(Death),
}

impl End {
    /// Why a command that was under way has no end.
    fn cut_because(&self) -> &'static str {
        match self {
            Self::Timeout => "not done when the time of the session was up",
            Self::Interrupted => "not done when the run was interrupted",
            Self::LoadDied => "not done when the load died",
            Self::Complete | Self::UsersGone | Self::UserDied(_) => "not done when a user died",
        }
    }
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
        let (done, failing, finished) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { observer, load, users, script, until_ns, done, failing, finished }
    }

    /// Lets the users work; how it ended. Whatever the end is, every command of a first pass that
    /// was issued has its line after this call.
    pub(crate) fn until_all_are_done(mut self) -> io::Result<EndStatus> {
        let end = match self.users.begin() {
            Ok(()) => self.work()?,
            Err(_) => End::UsersGone,
        };
        self.conclude(end)
    }

    fn work(&mut self) -> io::Result<End> {
        loop {
            if self.done.len() == self.users.count() {
                return Ok(End::Complete);
            }
            match self.observer.waiter.wait(Some(self.users.words.as_fd()), self.until_ns) {
                Woken::Readable => self.listen()?,
                Woken::Time => return Ok(End::Timeout),
                Woken::Signal => {
                    if self.observer.waiter.stop_requested() {
                        return Ok(End::Interrupted);
                    }
                    if self.observer.load_died(self.load)? {
                        return Ok(End::LoadDied);
                    }
                    if let Some(death) = self.users.dead_user() {
                        return Ok(End::UserDied(death));
                    }
                }
            }
        }
    }

    /// Writes what the users had told when the work ended, and the commands that were under way.
    fn conclude(mut self, end: End) -> io::Result<EndStatus> {
        if matches!(end, End::Complete) {
            return Ok(EndStatus::Complete);
        }
        // The board before the pipe: a command that ends in between has its line from the pipe.
        let ended_ns = monotonic_ns();
        let under_way = self.under_way();
        self.listen()?;
        for (user, item, started_ns) in under_way {
            if !self.finished.contains(&(user, item.clone())) {
                self.write_cut(user, item, started_ns, ended_ns, end.cut_because())?;
            }
        }
        Ok(match end {
            End::Complete => EndStatus::Complete,
            End::Timeout => {
                let left = self.users.count() - self.done.len();
                self.observer.output.warning(format!(
                    "{left} of {} users did not finish their first pass in time",
                    self.users.count()
                ))?;
                EndStatus::Timeout
            }
            End::Interrupted => EndStatus::Interrupted,
            End::LoadDied => EndStatus::LoadDied,
            End::UsersGone => match self.users.dead_user() {
                Some(death) => self.observer.measured_died(&death)?,
                None => EndStatus::Killed,
            },
            End::UserDied(death) => self.observer.measured_died(&death)?,
        })
    }

    /// Writes what the users have told.
    fn listen(&mut self) -> io::Result<()> {
        for word in self.users.words.read()? {
            match word {
                // Nothing is done after the last first pass: it would be there or not by chance.
                _ if self.done.len() == self.users.count() => {}
                Word::Work(work) => {
                    if work.pass == 0 {
                        self.finished.insert((work.worker, work.item.clone()));
                    }
                    self.write_work(work)?;
                }
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

    /// The commands of first passes that are under way: user, command, and start.
    fn under_way(&self) -> Vec<(u32, String, u64)> {
        let board = &self.users.board;
        (0..self.users.count())
            .filter(|user| board.get(*user, PASS) == 0)
            .filter_map(|user| {
                let number = board.get(user, COMMAND) as usize;
                let command = self.script.commands.get(number.checked_sub(1)?)?;
                Some((user as u32, command.name.clone(), board.get(user, STARTED_NS)))
            })
            .collect()
    }

    /// Writes a command that the end of the work cut off.
    fn write_cut(
        &mut self,
        worker: u32,
        item: String,
        started_ns: u64,
        ended_ns: u64,
        why: &str,
    ) -> io::Result<()> {
        let output = &mut self.observer.output;
        output.line(&Line::Work(Box::new(WorkRecord {
            at_ns: output.now_ns(),
            worker,
            pass: 0,
            item,
            started_ns: output.relative_ns(started_ns),
            completed_ns: None,
            censored_at_ns: Some(output.relative_ns(ended_ns)),
            failure: Some(why.to_owned()),
            usage: [].into(),
        })))
    }
}
