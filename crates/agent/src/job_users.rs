//! The users of a job: started together, heard through one pipe, and ended with all they started.

use std::ffi::OsStr;
use std::io::{self, PipeWriter, Write};
use std::os::fd::AsFd;

use keep::marked::end_marked;
use sys::board::Board;
use sys::clock::monotonic_ns;
use sys::process::{fork_child, signal, signals, wait};
use workloads::Resolved;

use crate::assignment::Assignment;
use crate::job_user::{UserSide, Word};
use crate::observer::{Death, NotReady};
use crate::waiter::{Waiter, Woken};
use crate::words::Words;

/// How long the users may take to fill their directories, in ns.
const READY_NS: u64 = 60_000_000_000;

/// The observer's end of all users. Dropping it ends them and whatever they started.
pub(crate) struct Users {
    pids: Vec<u32>,
    /// What each does at the moment; slots of [`crate::job_user`].
    pub(crate) board: Board,
    pub(crate) words: Words,
    start: PipeWriter,
    mark: String,
}

impl Users {
    /// Forks all users of a script; each fills its directory and says that it is ready.
    ///
    /// # Errors
    /// When pipes, board or a process cannot be made; what was started is ended.
    pub(crate) fn start(
        assignment: &Assignment,
        resolved: &Resolved,
        path: &OsStr,
    ) -> io::Result<Self> {
        let count = resolved.script.users;
        let (words, writer) = Words::pipe()?;
        let (start_reader, start) = io::pipe()?;
        let board = Board::new(count as usize)?;
        let mark = assignment.work_dir.display().to_string();
        let program = std::env::current_exe()?;
        let mut users = Self { pids: Vec::new(), board, words, start, mark };
        for user in 0..count {
            let board = &users.board;
            let pid = fork_child(|| {
                let (program, writer) = (&program, &writer);
                let side = UserSide { assignment, resolved, user, path, program, board, writer };
                side.live(&start_reader)
            })?;
            users.pids.push(pid);
        }
        Ok(users)
    }

    /// Waits until all users wait for the start.
    pub(crate) fn await_ready(&mut self, waiter: &Waiter) -> Result<(), NotReady> {
        let until_ns = monotonic_ns() + READY_NS;
        let mut ready = 0;
        while ready < self.pids.len() {
            let woken = waiter.wait(Some(self.words.as_fd()), until_ns);
            // What a user said before he died tells more than his death.
            for word in self.words.read().map_err(|error| NotReady::Failed(error.to_string()))? {
                match word {
                    Word::NotReady(why) => return Err(NotReady::Failed(why)),
                    _ => ready += 1,
                }
            }
            match woken {
                Woken::Signal if waiter.stop_requested() => return Err(NotReady::Stopped),
                Woken::Signal => {
                    if let Some(death) = self.dead_user() {
                        return Err(NotReady::Died(death));
                    }
                }
                Woken::Time => {
                    let why = "the users' directories are not filled after 60 s";
                    return Err(NotReady::Failed(why.to_owned()));
                }
                Woken::Readable => {}
            }
        }
        Ok(())
    }

    /// Lets all users begin.
    ///
    /// # Errors
    /// When they are gone.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        // A byte for each.
        self.start.write_all(&vec![1; self.pids.len()])
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.pids.len()
    }

    /// The death of a user's process, if one died: none ends by itself.
    pub(crate) fn dead_user(&mut self) -> Option<Death> {
        let (user, exit) = self
            .pids
            .iter()
            .enumerate()
            .find_map(|(user, pid)| Some((user, wait(*pid, false).ok()??)))?;
        let who = format!("the process of user {user}");
        Some(match self.board.failure(user) {
            Some(why) => Death::new(who, why, None),
            None => Death::from_exit(who, exit),
        })
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        for pid in &self.pids {
            // A user that is gone already is what we want.
            let _ = signal(*pid, signals::KILL);
        }
        for pid in self.pids.drain(..) {
            let _ = wait(pid, true);
        }
        // Their commands die with them; what those had started does not. Whoever removes the
        // directory tries again.
        let _ = end_marked(&self.mark);
    }
}
