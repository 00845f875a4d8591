//! What the agent may weigh, and what its bytes depend on.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use instrument::Agent;
use keep::CLEANUP_ROLE;

/// Largest file in bytes.
const MOST_BYTES: usize = 2_500_000;
/// Most anonymous memory of a process that waits, in kB of 1024 bytes.
const MOST_ANONYMOUS_KB: u64 = 100;

#[test]
fn the_agent_is_small() {
    let agent = Agent::here().unwrap();
    assert!(agent.bytes.len() <= MOST_BYTES, "{} bytes", agent.bytes.len());
    assert_eq!(blake3::hash(&agent.bytes).to_hex().as_str(), agent.hash);
}

/// A process of the agent that waits for its standard input, as one does most of its life.
fn waiting(role: &str, arguments: &[&str]) -> Child {
    let mut command = instrument::program().unwrap().command(role);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until a process sleeps in the kernel, and reads a counter of all its memory.
fn held_kb(child: &Child, counter: &str) -> u64 {
    let folder = PathBuf::from(format!("/proc/{}", child.id()));
    let is_waiting = || {
        let stat = fs::read_to_string(folder.join("stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('S')
    };
    while !is_waiting() {
        std::thread::yield_now();
    }
    let memory = fs::read_to_string(folder.join("smaps_rollup")).unwrap();
    let line = memory.lines().find_map(|line| line.strip_prefix(&format!("{counter}:"))).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_process_that_waits_holds_next_to_nothing() {
    for (role, arguments) in [("observe", &[][..]), (CLEANUP_ROLE, &["journal", "/nonexistent"])] {
        let mut child = waiting(role, arguments);
        let anonymous_kb = held_kb(&child, "Anonymous");
        let name = fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(name, "thrashlab-agent\n");
        assert!(anonymous_kb <= MOST_ANONYMOUS_KB, "{role}: {anonymous_kb} kB");
    }
}

#[test]
fn it_is_started_from_a_file_that_nobody_can_change() {
    let mut child = waiting(CLEANUP_ROLE, &["journal", "/nonexistent"]);
    let path = PathBuf::from(format!("/proc/{}/exe", child.id()));
    while !fs::read_link(&path).unwrap().to_string_lossy().contains("thrashlab-agent") {
        std::thread::yield_now();
    }
    let (file, bytes) = (fs::metadata(&path).unwrap(), fs::read(&path).unwrap());
    let refused = fs::OpenOptions::new().write(true).open(&path).is_err();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(file.nlink(), 0, "it has a name");
    assert!(refused && bytes == Agent::here().unwrap().bytes);
}

#[test]
fn a_mistake_in_the_agent_is_told_and_has_its_code() {
    let mut child = waiting("remote", &["keep"]);
    let mut said = String::new();
    drop(child.stdin.take());
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
    assert!(!said.is_empty() && !said.contains("panicked"), "{said}");
}

/// Builds the agent in another folder, in which another crate is different.
#[test]
fn another_crate_and_another_folder_leave_its_bytes_equal() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let folder = tempfile::tempdir_in(root.join("target")).unwrap();
    let tree = folder.path().join("another tree");
    copy(root, &tree);
    let changed = tree.join("crates/results/report/src/lib.rs");
    let text = fs::read_to_string(&changed).unwrap() + "\nconst _: u32 = 1;\n";
    fs::write(changed, text).unwrap();
    let target = folder.path().join("target");
    // Its build script builds the agent; nothing else of the product is needed for that.
    let built = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--quiet", "-p", "instrument"])
        .current_dir(&tree)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let targets = fs::read_dir(target.join("agent")).unwrap().map(|entry| entry.unwrap().path());
    let mut programs = targets.map(|target| target.join("release/thrashlab-agent"));
    let program = programs.find(|program| program.is_file()).unwrap();
    assert!(fs::read(program).unwrap() == Agent::here().unwrap().bytes, "its bytes differ");
}

/// Copies what git would, without asking it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (name, path) = (entry.file_name(), entry.path());
        if [".git", "target", "node_modules", "corpus"].iter().any(|skipped| name == *skipped) {
            continue;
        }
        let (kind, to) = (entry.file_type().unwrap(), to.join(&name));
        if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(path).unwrap(), to).unwrap();
        } else if kind.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(path, to).unwrap();
        }
    }
}
