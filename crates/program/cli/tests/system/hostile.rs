//! Other invocations, other users, and folders that are not what they seem.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};

use crate::left::{assert_nothing_left, queue_keys};
use crate::skip::skip;
use crate::support::{Fixture, is_root};

#[test]
fn a_second_run_in_one_work_directory_is_refused_with_the_holder() {
    let fixture = Fixture::new();
    let mut running = fixture.start(fixture.run("--load cpuload --points 5"));
    fixture.await_text(&mut running, "001-noload", "\"phase\":\"measuring\"");
    let pid = running.pid();
    // Its own folder for standard output and error, and the same work directory.
    let other = Fixture::new();
    let arguments = format!("--work-dir {}", fixture.work().display());
    let refused = other.finish(other.run(&arguments));
    let holder = format!("in use by process {pid}");
    refused.expect(3, &[fixture.work().to_str().unwrap(), &holder, "wait for it"]);
    assert_nothing_left(&other, pid + 1, &queue_keys(&other));
    // And the first one has not been disturbed.
    running.wait().expect(0, &[]);
    fixture
        .finish(fixture.run(&format!("--output {}", fixture.path().join("again").display())))
        .expect(0, &[]);
}

#[test]
fn a_lock_that_is_a_link_is_not_followed() {
    let fixture = Fixture::new();
    let precious = fixture.path().join("precious");
    fs::write(&precious, "as it was").unwrap();
    fs::create_dir(fixture.work()).unwrap();
    symlink(&precious, fixture.work().join("thrashlab.lock")).unwrap();
    fixture.finish(fixture.run("--load noload")).expect(3, &["--work-dir"]);
    assert_eq!(fs::read_to_string(precious).unwrap(), "as it was");
}

#[test]
fn a_journal_of_somebody_else_is_not_obeyed() {
    if !is_root() {
        let name = "a_journal_of_somebody_else_is_not_obeyed";
        return skip(name, "only root can make files of somebody else");
    }
    let fixture = Fixture::new();
    let precious = fixture.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::create_dir_all(fixture.state()).unwrap();
    let journal = fixture.state().join("1-1.journal");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let entries = format!(
        "{{\"boot\":{:?}}}\n{{\"made\":{{\"kind\":\"directory\",\"path\":{precious:?}}}}}\n",
        boot.trim()
    );
    fs::write(&journal, entries).unwrap();
    chown(&journal, Some(61_237), Some(61_237)).unwrap();
    let arguments = "--load noload --points 1 --interval 10ms";
    fixture.finish(fixture.run(arguments)).expect(0, &[]);
    assert!(precious.exists(), "somebody else's journal was obeyed");

    chown(&journal, Some(0), Some(0)).unwrap();
    let arguments = format!("{arguments} --output {}", fixture.path().join("again").display());
    fixture.finish(fixture.run(&arguments)).expect(0, &["had left: directory"]);
    assert!(!precious.exists(), "one's own is");
}

#[test]
fn what_cannot_be_swept_is_named_at_once() {
    let fixture = Fixture::new();
    let odd = fixture.path().join("not-a-group");
    fs::write(&odd, "").unwrap();
    fs::create_dir_all(fixture.state()).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let group = serde_json::json!({
        "kind": "cgroup",
        "path": odd,
        "identity": {"inode": fs::metadata(&odd).unwrap().ino()},
    });
    let entries =
        format!("{{\"boot\":{:?}}}\n{{\"made\":{group}}}\ngarbage\n{{\"made\"", boot.trim());
    fs::write(fixture.state().join("1-1.journal"), entries).unwrap();
    let begun = std::time::Instant::now();
    let finished = fixture.finish(fixture.run("--load noload --points 1 --interval 10ms"));
    finished.expect(0, &["cannot be removed: control group", "not-a-group", "Not a directory"]);
    assert!(begun.elapsed().as_secs() < 9, "it was waited for");
}
