//! What ssh cannot do, in words that lead on.

use std::fs;

use crate::far::Far;
use crate::support::Fixture;

#[test]
fn ssh_that_gets_nowhere_says_what_where_and_what_next() {
    let Some(far) = Far::new("ssh_that_gets_nowhere_says_what_where_and_what_next") else { return };
    let try_with = |ssh: String| {
        let mut command = far.run("");
        command.env("THRASHLAB_SSH", ssh);
        far.fixture.finish(command)
    };
    let stranger = try_with(far.server.ssh_with("other_key", "known"));
    stranger.expect(3, &["ssh://127.0.0.1:", "Permission denied", "Next step: a key"]);
    fs::write(far.fixture.path().join("server/none"), "").unwrap();
    let unknown = try_with(far.server.ssh_with("key", "none"));
    unknown.expect(3, &["Host key verification failed", "accept it by hand once with `ssh "]);
    let missing = try_with("/nowhere/ssh".to_owned());
    missing.expect(3, &["/nowhere/ssh", "--ssh COMMAND"]);
    assert!(!far.fixture.output().exists(), "nothing was measured");
}

#[test]
fn what_is_no_address_or_subject_is_wrong_use() {
    let fixture = Fixture::new();
    for (subject, why) in [
        ("ssh://-oProxyCommand=x", "no host"),
        ("ssh://box:0", "is not a port"),
        ("ssh://box,vm:machine=micro", "host or sandbox"),
        ("ssh://box,sandbox:mem=1", "at least 16M"),
    ] {
        fixture.finish(fixture.run_on(subject, "")).expect(2, &[why]);
    }
}
