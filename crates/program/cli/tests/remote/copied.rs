//! How the program gets there.

use std::fs;
use std::process::Command;

use crate::far::{Far, agent_hash};
use crate::server::script;
use crate::support::Fixture;

const COPYING: &str = "copying the agent to ssh://127.0.0.1:";

#[test]
fn the_program_is_copied_once_and_a_damaged_copy_is_replaced() {
    let name = "the_program_is_copied_once_and_a_damaged_copy_is_replaced";
    let Some(far) = Far::without_program(name) else { return };
    let hash = agent_hash();
    let is_copied = || {
        let finished = far.fixture.finish(far.tried());
        finished.expect(0, &[]);
        finished.stderr.contains(COPYING)
    };
    let copy = far.programs().join(hash);
    assert!(is_copied(), "it is missing");
    let whole = fs::read(&copy).unwrap();
    assert_eq!(blake3::hash(&whole).to_hex().as_str(), hash);
    assert!(!is_copied(), "it is there");
    let mut damaged = whole.clone();
    // Far beyond everything that the kernel looks at.
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    for damage in [damaged, whole[..whole.len() / 2].to_vec()] {
        fs::remove_file(&copy).unwrap();
        script(&copy, "");
        fs::write(&copy, &damage).unwrap();
        assert!(is_copied(), "it is damaged");
        assert!(fs::read(&copy).unwrap() == whole, "the copy is not replaced");
    }
    let names: Vec<_> = fs::read_dir(far.programs()).unwrap().map(Result::unwrap).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    far.await_clean();
}

/// A machine that needs no sshd: `ssh` is a script that runs the command here, with programs of the
/// test first on its path.
fn shammed(fixture: &Fixture, uname: &str) -> Command {
    let folder = fixture.path().join("sham");
    fs::create_dir(&folder).unwrap();
    script(&folder.join("uname"), &format!("#!/bin/sh\n{uname}\n"));
    let far = fixture.path().join("far");
    let ssh = format!(
        "#!/bin/sh\nfor command; do :; done\nPATH={}:$PATH XDG_STATE_HOME={far}/state \
         XDG_CACHE_HOME={far}/cache exec sh -c \"$command\"\n",
        folder.display(),
        far = far.display()
    );
    script(&folder.join("ssh"), &ssh);
    let mut command = fixture.run_on("ssh://elsewhere,host:mem=64M", "--load noload --points 1");
    command.arg("--ssh").arg(folder.join("ssh"));
    command
}

#[test]
fn another_architecture_is_refused_with_what_to_do() {
    let fixture = Fixture::new();
    let command = shammed(&fixture, "echo Linux pdp11");
    let words =
        ["ssh://elsewhere is Linux pdp11, and this build of thrashlab has agents for", "AGENTS="];
    fixture.finish(command).expect(3, &words);
    assert!(!fixture.path().join("far/cache").exists(), "something was copied");
}

#[test]
fn a_machine_that_does_not_run_the_agent_is_told() {
    let fixture = Fixture::new();
    // The far side has another architecture, or a folder that allows no execution.
    let command = shammed(&fixture, "exec /usr/bin/uname \"$@\"");
    let folder = fixture.path().join("far/cache/thrashlab/bin");
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    fs::write(&folder, "a file").unwrap();
    fixture.finish(command).expect(3, &["ssh://elsewhere: thrashlab does not run there"]);
}

#[test]
fn a_state_folder_that_cannot_be_used_there_is_told() {
    let fixture = Fixture::new();
    let command = shammed(&fixture, "exec /usr/bin/uname \"$@\"");
    fs::create_dir(fixture.path().join("far")).unwrap();
    fs::write(fixture.path().join("far/state"), "a file").unwrap();
    let words = ["ssh://elsewhere: create ", "far/state", "name another in XDG_STATE_HOME"];
    fixture.finish(command).expect(3, &words);
}
