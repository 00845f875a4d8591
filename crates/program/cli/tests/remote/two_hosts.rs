//! Two measured hosts with one home directory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::skip::skip;
use crate::support::{Fixture, is_root};

/// What stands for ssh: a machine of its own for each connection, named after the host.
const SSH: &str = r#"#!/bin/sh
for word; do
    case $word in anna|hanna) host=$word;; esac
    command=$word
done
export XDG_STATE_HOME="$HOME_OF_BOTH/state" XDG_CACHE_HOME="$HOME_OF_BOTH/cache"
exec unshare --mount --uts --ipc --net sh -c '
    hostname "$1" && mount --bind "$HOME_OF_BOTH/$1" "$HOME_OF_BOTH/work" &&
    exec sh -c "$2"' sh "$host" "$command"
"#;

#[test]
fn a_plan_with_two_hosts_of_one_home_has_a_lease_on_each() {
    let name = "a_plan_with_two_hosts_of_one_home_has_a_lease_on_each";
    let mut tried = Command::new("unshare");
    tried.args(["--mount", "--uts", "--ipc", "--net", "true"]);
    if !is_root() || !tried.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return skip(name, "namespaces cannot be created here");
    }
    let fixture = Fixture::new();
    let home = fixture.path().join("home");
    for folder in ["anna", "hanna", "work"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    let ssh = fixture.path().join("ssh");
    fs::write(&ssh, SSH).unwrap();
    fs::set_permissions(&ssh, PermissionsExt::from_mode(0o755)).unwrap();
    let plan = fixture.path().join("plan.toml");
    let text = "name = \"two\"\n[base]\nload = \"noload\"\npoints = 1\ninterval = \"100ms\"\n\
        warmup = \"100ms\"\n[[factor]]\nname = \"host\"\nparameter = \"subject\"\n\
        levels = [\"ssh://anna,host:mem=64M\", \"ssh://hanna,host:mem=64M\"]\n";
    fs::write(&plan, text).unwrap();
    let mut command = fixture.thrashlab("experiment --blocks 1");
    command.arg(&plan).arg("--work-dir").arg(home.join("work"));
    command.arg("--output").arg(fixture.output());
    command.env("THRASHLAB_SSH", &ssh).env("HOME_OF_BOTH", &home);
    let finished = fixture.finish(command);
    finished.expect(0, &[]);
    let runs = fs::read_dir(fixture.output()).unwrap().filter(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".run.jsonl")
    });
    assert_eq!(runs.count(), 2, "{}", finished.stderr);
    let machines = fs::read_dir(home.join("state/thrashlab")).unwrap();
    assert_eq!(machines.count(), 2, "each has its own lease");
}
