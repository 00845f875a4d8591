//! The other machine: what is stored and runs there, and how it is measured.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use instrument::Agent;

use crate::server::Server;
use crate::support::{Fixture, PATIENCE};

/// A test with another machine.
pub(crate) struct Far {
    pub(crate) server: Server,
    pub(crate) fixture: Fixture,
}

impl Far {
    /// One that has the program; `None`, which is noted, where there can be none.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let far = Self::without_program(test)?;
        let folder = far.programs();
        fs::create_dir_all(&folder).unwrap();
        let copy = folder.join(agent_hash());
        fs::write(&copy, &Agent::here().unwrap().bytes).unwrap();
        fs::set_permissions(&copy, Permissions::from_mode(0o700)).unwrap();
        Some(far)
    }

    /// One to which it has to be copied.
    pub(crate) fn without_program(test: &str) -> Option<Self> {
        let fixture = Fixture::new();
        Some(Self { server: Server::start(&fixture, test)?, fixture })
    }

    /// `thrashlab run` there without a load, that is over soon unless the arguments say otherwise.
    pub(crate) fn run(&self, arguments: &str) -> Command {
        let load = if arguments.contains("--load") { "" } else { "--load noload" };
        let subject = self.server.subject("host:mem=64M");
        let mut command = self.fixture.run_on(&subject, &format!("{load} {arguments}"));
        command.env("THRASHLAB_SSH", self.server.ssh());
        command
    }

    /// A plan that is only tried: everything but a run.
    pub(crate) fn tried(&self) -> Command {
        let subject = self.server.subject("host:mem=64M");
        let plan = self.fixture.path().join("tried.toml");
        let text = format!(
            "name = \"tried\"\n[base]\nsubject = \"{subject}\"\n[[factor]]\nname = \"load\"\n\
             parameter = \"load\"\nlevels = [\"noload\", \"cpuload\"]\n"
        );
        fs::write(&plan, text).unwrap();
        let mut command = self.fixture.thrashlab("experiment --check");
        command.arg(plan).arg("--work-dir").arg(self.fixture.work());
        command.env("THRASHLAB_SSH", self.server.ssh());
        command
    }

    /// Where copies of programs are stored there.
    pub(crate) fn programs(&self) -> PathBuf {
        self.fixture.path().join("far/cache/thrashlab/bin")
    }

    /// The folder of that machine's state.
    fn state(&self) -> PathBuf {
        self.fixture.path().join("far/state/thrashlab").join(keep::host::machine())
    }

    /// The folder of sessions there.
    fn spool(&self) -> PathBuf {
        self.state().join("remote")
    }

    /// The contents of the folder of sessions there.
    pub(crate) fn spooled(&self) -> Vec<String> {
        let entries = fs::read_dir(self.spool());
        let mut names: Vec<String> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// The contents of a spooled file with this ending, if there is one.
    pub(crate) fn spooled_bytes(&self, ending: &str) -> Option<Vec<u8>> {
        let name = self.spooled().into_iter().find(|name| name.ends_with(ending))?;
        fs::read(self.spool().join(name)).ok()
    }

    /// Processes there whose command has this word.
    pub(crate) fn processes(&self, word: &str) -> Vec<u32> {
        let mark = format!("XDG_STATE_HOME={}", self.fixture.path().join("far/state").display());
        let is_there = |pid: &u32| {
            let read = |name| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let has = |text: &[u8], word: &str| {
                text.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
            };
            has(&read("environ"), &mark) && (word.is_empty() || has(&read("cmdline"), word))
        };
        let entries = fs::read_dir("/proc").unwrap();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(is_there).collect()
    }

    /// The one process there that keeps the session.
    pub(crate) fn keeper(&self) -> u32 {
        let keepers = self.processes("keep");
        assert_eq!(keepers.len(), 1, "{keepers:?}");
        keepers[0]
    }

    /// The agent of the run under way there: the observer, which the keeper has started.
    pub(crate) fn agent(&self) -> Option<u32> {
        let keepers = self.processes("keep");
        self.processes("observe").into_iter().find(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
            let parent = behind.split_whitespace().nth(1).and_then(|parent| parent.parse().ok());
            parent.is_some_and(|parent| keepers.contains(&parent))
        })
    }

    /// Waits until nothing is left there but what stays: the copies of the program, and the two
    /// files that locks are taken on.
    pub(crate) fn await_clean(&self) {
        let mut left = Vec::new();
        let is_clean = || {
            left = self.spooled().into_iter().filter(|name| name != "lease").collect();
            left.extend(self.processes("").iter().map(|pid| format!("process {pid}")));
            let others = |folder: &Path, stays: &str| -> Vec<String> {
                let entries = fs::read_dir(folder).into_iter().flatten();
                let names = entries.map(|entry| entry.unwrap().path().display().to_string());
                names.filter(|name| !name.ends_with(stays)).collect()
            };
            left.extend(others(&self.fixture.work(), "thrashlab.lock"));
            left.extend(others(&self.state(), "remote"));
            left.is_empty()
        };
        let came = await_that(is_clean);
        assert!(came, "left there: {left:#?}");
    }
}

/// Waits until a condition holds; returns whether it did.
pub(crate) fn await_that(mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    true
}

/// The name of the agent's copies.
pub(crate) fn agent_hash() -> &'static str {
    Agent::here().unwrap().hash
}
