//! Two machines with one home directory: neither touches what the other has created.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::left::{journals, processes};
use crate::skip::skip;
use crate::support::{Fixture, is_root, send};

/// Becomes a machine of its own: `$1` is its host name, `$2` a file with its machine id, `$3` one
/// with its boot id; the rest is a command.
const MACHINE: &str = "hostname \"$1\" && mount --bind \"$2\" /etc/machine-id && \
    mount --bind \"$3\" /proc/sys/kernel/random/boot_id && shift 3 && exec \"$@\"";

/// What separates it from this machine.
const SEPARATE: [&str; 8] =
    ["--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

fn cannot_run(name: &str) -> bool {
    let tried = Command::new("unshare").args(SEPARATE).arg("true").stderr(Stdio::null()).status();
    let is_possible = is_root() && Path::new("/etc/machine-id").exists();
    if is_possible && tried.is_ok_and(|status| status.success()) {
        return false;
    }
    skip(name, "namespaces cannot be created here");
    true
}

/// `thrashlab run` on another machine that has the folders of this test.
fn run_on(fixture: &Fixture, machine: &str, arguments: &str) -> Command {
    let file = |what: &str, text: String| {
        let path = fixture.path().join(format!("{machine}-{what}"));
        fs::write(&path, text).unwrap();
        path
    };
    let digit = machine.len() % 10;
    let id = file("machine-id", format!("{digit:032}\n"));
    let boot = file("boot-id", format!("{digit:08}-0000-4000-8000-000000000000\n"));
    let run = fixture.run_on("host:mem=64M", arguments);
    let mut command = fixture.other("unshare");
    command.args(SEPARATE).args(["sh", "-c", MACHINE, "sh", machine]).arg(id).arg(boot);
    command.arg(run.get_program()).args(run.get_args());
    command
}

/// The directories of runs in the work directory.
fn run_dirs(fixture: &Fixture) -> Vec<PathBuf> {
    let entries = fs::read_dir(fixture.work()).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

#[test]
fn what_one_machine_left_is_removed_by_it_and_by_no_other() {
    let name = "what_one_machine_left_is_removed_by_it_and_by_no_other";
    if cannot_run(name) {
        return;
    }
    let fixture = Fixture::new();
    let long = "--load noload --interval 100ms --points 600";
    let mut first = fixture.start_as("first-", run_on(&fixture, "anna", long));
    fixture.await_text(&mut first, "001-noload", "\"kind\":\"sample\"");
    // The whole machine ends, its cleanup process before it can do anything.
    for process in processes(&fixture) {
        if process.command.starts_with("thrashlab-agent cleanup") {
            send(process.pid, Signal::KILL);
        }
    }
    first.signal(Signal::KILL);
    first.wait();
    let left = (journals(&fixture), run_dirs(&fixture));
    assert_eq!((left.0.len(), left.1.len()), (1, 1), "{left:?}");

    let short = |machine: &str| {
        let output = fixture.path().join(machine);
        let arguments = format!("--load noload --points 1 --output {}", output.display());
        let finished = fixture.finish(run_on(&fixture, machine, &arguments));
        finished.expect(0, &[]);
        finished
    };
    let other = short("hanna");
    assert!(!other.stderr.contains("had left"), "{}", other.stderr);
    assert_eq!((journals(&fixture), run_dirs(&fixture)), left, "the other machine removed it");
    short("anna").expect(0, &["had left: directory"]);
    assert_eq!((journals(&fixture), run_dirs(&fixture)), (Vec::new(), Vec::new()));
}
