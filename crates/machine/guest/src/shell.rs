//! A shell on the guest's console: busybox with all its programs.

use std::fs;
use std::io::stdout;
use std::process::Command;

use rustix::termios::{LocalModes, OptionalActions, OutputModes, tcdrain, tcgetattr, tcsetattr};

use crate::at;
use crate::channel::Channel;
use crate::disk::WORK_DIR;
use crate::protocol::{BUSYBOX, Notice, RootSetup};
use crate::root;

/// Programs that busybox replaces.
const REPLACED: [&str; 2] = ["/bin/sh", "/bin/true"];
const CONSOLE: &str = "/dev/console";

/// A guest with a root has a shell and programs of its own.
pub(crate) fn run(
    channel: &Channel,
    is_script: bool,
    root: Option<&RootSetup>,
) -> Result<(), String> {
    let busybox = || Command::new(BUSYBOX);
    if root.is_none() {
        for program in REPLACED {
            fs::remove_file(program).map_err(at(format!("remove {program}")))?;
        }
        let install = busybox().args(["--install", "-s", "/bin"]).status();
        install.map_err(at(format!("run {BUSYBOX}")))?;
    }
    let mut command = busybox();
    if is_script {
        be_silent().map_err(at("set the console"))?;
        command = Command::new("/bin/sh");
        // As a file: with a terminal as input the shell would be interactive.
        command.arg(CONSOLE);
    } else {
        // A session with the console as its terminal, for Ctrl-C and jobs.
        command.args(["setsid", BUSYBOX, "cttyhack", "/bin/sh"]);
    }
    channel.say(&Notice::Ready);
    command
        .current_dir(WORK_DIR)
        .env_clear()
        .envs([("PATH", "/bin"), ("HOME", WORK_DIR), ("TERM", "linux"), ("PS1", "guest:\\w# ")])
        .envs(root.into_iter().flat_map(root::environment))
        .status()
        .map_err(at("run the shell"))?;
    // Buffered output would be lost with the machine.
    tcdrain(stdout()).map_err(at("empty the console"))
}

/// Disables echo and carriage returns.
fn be_silent() -> rustix::io::Result<()> {
    let mut modes = tcgetattr(stdout())?;
    modes.local_modes.remove(LocalModes::ECHO);
    modes.output_modes.remove(OutputModes::ONLCR);
    tcsetattr(stdout(), OptionalActions::Now, &modes)
}
