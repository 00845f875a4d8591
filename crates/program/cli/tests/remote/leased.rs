//! One experiment at a time on a measured host.

use rustix::process::Signal;

use crate::far::Far;

#[test]
fn a_second_one_hears_who_measures_and_can_wait() {
    let Some(far) = Far::new("a_second_one_hears_who_measures_and_can_wait") else { return };
    let mut first = far.fixture.start_as("first-", far.run("--interval 1s --points 600"));
    far.fixture.await_text(&mut first, "001-noload", "\"kind\":\"sample\"");
    let second = |wait: &str| {
        let output = far.fixture.path().join(format!("second{wait}"));
        let mut command = far.run(&format!("{wait} --output {}", output.display()));
        command.env("USER", "bob");
        command
    };
    let refused = far.fixture.finish(second(""));
    refused.expect(3, &["is leased to ", " since 20", "wait for it with --wait"]);
    let mut waiting = far.fixture.start_as("second-", second("--wait"));
    let waits = waiting.said();
    assert!(!waits.contains("run files"), "{waits}");
    waiting.await_that("it waits", || {
        let said = std::fs::read_to_string(far.fixture.path().join("second-stderr"));
        said.unwrap().contains("; waiting for it")
    });
    assert!(first.ended().is_none(), "{}", first.said());
    first.signal(Signal::INT);
    assert_eq!(first.wait().code(), Some(130));
    waiting.wait().expect(0, &["is leased to ", "[1/1]"]);
    far.await_clean();
}

#[test]
fn a_lease_ends_with_the_process_that_holds_it() {
    let Some(far) = Far::new("a_lease_ends_with_the_process_that_holds_it") else { return };
    let mut first = far.fixture.start(far.run("--interval 1s --points 600"));
    far.fixture.await_text(&mut first, "001-noload", "\"kind\":\"sample\"");
    crate::support::send(far.keeper(), Signal::KILL);
    // The run is lost with it, which the waiting session gets as an error.
    let finished = first.wait();
    assert_eq!(far.fixture.run_file("001-noload").status(), model::EndStatus::Killed);
    assert!(finished.stderr.contains("has lost the run"), "{}", finished.stderr);
    far.fixture.finish(far.tried()).expect(0, &[]);
    far.await_clean();
}
