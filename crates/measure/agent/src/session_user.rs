//! The users of a session: processes that think, issue commands, and report their usage.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use jobs::Order;
use keep::{AgentProgram, marked};
use model::{PassRecord, WorkRecord};
use sys::clock::{monotonic_ns, set_timer_slack_ns, sleep_until_ns};
use sys::process::all_usage;
use workloads::{Resolved, TOOL_ROLE, arguments, fill};

use crate::assignment::Assignment;
use crate::children::{enter_groups, send};
use crate::issued::Issuer;
use crate::record::named_usage;
use crate::users::{Message, Side};

/// One user of a session, in its own process.
pub(crate) struct UserSide<'a> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) resolved: &'a Resolved,
    pub(crate) path: &'a OsStr,
    /// This program, for the built-in tools.
    pub(crate) program: &'a AgentProgram,
    pub(crate) side: Side<'a>,
    pub(crate) dir: PathBuf,
}

impl UserSide<'_> {
    /// Works until it is killed; returns only on failure.
    pub(crate) fn live(&self) -> i32 {
        let side = &self.side;
        let why = |error| Message::NotReady(format!("user {}: {error}", side.user));
        let made = self.make().map_err(why);
        side.live(made, || self.work())
    }

    fn make(&self) -> io::Result<()> {
        enter_groups(&self.assignment.enter)?;
        // Think time must not include the default timer slack.
        let _ = set_timer_slack_ns(1);
        fs::create_dir(&self.dir)?;
        fill(&self.dir, self.assignment.spec.seed, self.side.user)?;
        std::env::set_current_dir(&self.dir)?;
        // The corpus must not be written back while commands are timed.
        Ok(rustix::fs::syncfs(File::open(&self.dir)?)?)
    }

    fn work(&self) -> io::Result<()> {
        let script = &self.resolved.script;
        let mut order =
            Order::new(self.assignment.spec.seed, self.side.user, script.commands.len());
        let issuer = Issuer::new();
        for pass in 0.. {
            let (started_ns, before) = (monotonic_ns(), all_usage());
            for index in order.next_pass() {
                sleep_until_ns(monotonic_ns() + order.next_think_ns(script.think_ns));
                let work = self.issue(&issuer, index, pass);
                self.side.report(work)?;
            }
            let usage = named_usage(&all_usage().since(&before));
            let (worker, completed_ns) = (self.side.user, monotonic_ns());
            let done = PassRecord { at_ns: 0, worker, pass, started_ns, completed_ns, usage };
            send(self.side.writer, &Message::Pass(done))?;
            if pass == 0 {
                send(self.side.writer, &Message::Done(worker))?;
            }
        }
        Ok(())
    }

    fn issue(&self, issuer: &Issuer<'_>, index: usize, pass: u32) -> WorkRecord {
        let script = &self.resolved.script;
        let described = &script.commands[index];
        let (words, is_own) = self.resolved.words(described);
        let words = arguments(script, &self.dir, self.side.user, words);
        let mut command = self.command(&words, is_own);
        issuer.listen_to(&mut command);
        let mut work = self.side.begin(index, pass, &described.name);
        issuer.run(&mut command, &mut work, script.limit_ns, None);
        work
    }

    /// The command in the user's directory, with a fixed environment and the mark of the run.
    fn command(&self, words: &[String], is_own: bool) -> Command {
        let (mut command, arguments) = match is_own {
            true => (self.program.command(TOOL_ROLE), words),
            false => (Command::new(&words[0]), &words[1..]),
        };
        command
            .args(arguments)
            .current_dir(&self.dir)
            .env_clear()
            .env("PATH", self.path)
            .env("HOME", &self.dir)
            .env("TMPDIR", &self.dir)
            .env("LC_ALL", "C")
            .env(marked::VARIABLE, &self.assignment.work_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }
}
