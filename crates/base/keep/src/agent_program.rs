//! The program that measures (`agent/`), as this process can start it.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The agent's name, in lists of processes too.
pub const AGENT_NAME: &str = "thrashlab-agent";
/// The program that a process executes, whatever it is called and even if its file is gone.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Where the agent is. The program that thinks has it in memory, and the agent starts itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentProgram {
    path: PathBuf,
}

impl AgentProgram {
    /// The agent in this file, which may be one without a name (`/proc/self/fd/N`).
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The calling process's own program; for the agent only.
    pub fn this() -> Self {
        Self::at(THIS_PROGRAM)
    }

    /// The command that starts the agent in a role.
    pub fn command(&self, role: &str) -> Command {
        let mut command = Command::new(&self.path);
        command.arg0(AGENT_NAME).arg(role);
        command
    }
}
