//! The start script of a guest: a file of the overlay that starts daemons before the machine is kept.
//!
//! The agent is the first process of every guest, its bytes are in the key of every cell, and it starts
//! nothing but its run. So a guest with a start script boots a script of the root's busybox instead,
//! which leaves a process behind and becomes the agent. That process holds the agent at the last step
//! of entering the root, where it empties the caches: the file that it writes is a pipe until the start
//! script has ended. What the script left in the background is part of the kept machine.

use roots::Program;

use crate::guest_root::GuestRoot;
use crate::initramfs::{DIRECTORY, EXECUTABLE, RootFile};
use crate::{Result, VmError};

/// The start script of a guest, a file of its overlay.
pub const START_SCRIPT: &str = "/etc/thrashlab/start";
/// The package of Debian that a guest's root needs for a start script.
pub const START_SCRIPT_PACKAGE: &str = "busybox-static";
/// The folder of the files here, which is gone when the machine is kept.
const FOLDER: &str = "/start";
/// What the kernel starts in place of the agent.
pub(crate) const FIRST_PROCESS: &str = "rdinit=";
const BUSYBOX: &str = "busybox";
const LAUNCH: &str = include_str!("start_script/launch.sh");
const HOLD: &str = include_str!("start_script/hold.sh");
/// How `hold.sh` begins what it writes to the console when it fails.
const FAILURE: &str = "thrashlab start script: ";

/// The argument of the kernel that starts these files first.
pub(crate) fn argument() -> String {
    format!("{FIRST_PROCESS}{FOLDER}/launch")
}

/// Whether an overlay has a start script.
pub(crate) fn is_in(overlay: &[RootFile]) -> bool {
    overlay.iter().any(|file| file.path == START_SCRIPT)
}

/// Why a start script failed, from the console of its guest; `None` if it did not.
pub(crate) fn failure(console: &str) -> Option<String> {
    let why = console.lines().find_map(|line| Some(line.split_once(FAILURE)?.1.trim()))?;
    Some(format!("its start script {START_SCRIPT} failed: {why}"))
}

/// The files of a guest with a start script that it has before it has its root. Fails without a root, and
/// if that has no static busybox.
pub(crate) fn files(root: Option<&GuestRoot>) -> Result<Vec<RootFile>> {
    let unavailable = |why: &str| {
        VmError::Unavailable(format!(
            "the overlay has the start script {START_SCRIPT}, and {why}: add the package, as in \
             root=debian:13,{START_SCRIPT_PACKAGE}, or the program to the root's folder"
        ))
    };
    let root =
        root.ok_or_else(|| unavailable("there is no root with a static busybox to run it"))?;
    let busybox = match root.program(BUSYBOX)? {
        Some(Program { bytes, loader: None, .. }) => bytes,
        Some(_) => return Err(unavailable("the busybox of the root is not static")),
        None => return Err(unavailable("the root has no busybox to run it")),
    };
    let file = |name: &str, mode: u32, bytes: &[u8]| RootFile {
        path: format!("{FOLDER}{name}"),
        mode,
        bytes: bytes.to_vec(),
    };
    Ok(vec![
        file("", DIRECTORY, &[]),
        file("/busybox", EXECUTABLE, &busybox),
        file("/launch", EXECUTABLE, LAUNCH.as_bytes()),
        file("/hold", EXECUTABLE, HOLD.as_bytes()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_script_is_a_file_of_the_overlay_and_needs_a_root() {
        let file = |path: &str| RootFile { path: path.to_owned(), mode: EXECUTABLE, bytes: vec![] };
        assert!(is_in(&[file("/etc"), file("/etc/thrashlab/start")]));
        assert!(!is_in(&[file("/etc/start")]));
        let why = files(None).unwrap_err().to_string();
        assert!(why.contains("as in root=debian:13,busybox-static"), "{why}");
    }

    #[test]
    fn a_failure_is_read_from_the_console() {
        let console = "[ 1.0] all is well\r\n[ 4.2] thrashlab start script: exit code 1: sh: x: not found \r\n\
                       [ 4.3] Kernel panic - not syncing: sysrq triggered crash\r\n";
        let expected =
            "its start script /etc/thrashlab/start failed: exit code 1: sh: x: not found";
        assert_eq!(failure(console).as_deref(), Some(expected));
        assert_eq!(failure("[ 1.0] all is well"), None);
    }

    #[test]
    fn the_scripts_name_the_files_of_this_folder() {
        assert!(LAUNCH.starts_with(&format!("#!{FOLDER}/busybox sh\n")));
        assert!(LAUNCH.contains(&format!("{FOLDER}/busybox sh {FOLDER}/hold &\n")));
        assert!(LAUNCH.contains(&format!("exec {} \"$@\"", guest::PROGRAM)));
        assert!(HOLD.contains(&format!("1/root {START_SCRIPT}")));
        assert!(HOLD.contains(&format!("<0>{FAILURE}")));
        assert_eq!(argument(), "rdinit=/start/launch");
    }
}
