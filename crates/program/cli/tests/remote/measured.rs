//! What is measured there is an ordinary run.

use std::fs;

use model::EndStatus;
use rustix::process::Signal;

use crate::far::Far;
use crate::support::sandbox_works;

#[test]
fn a_run_over_ssh_gives_a_table_and_run_files() {
    let Some(far) = Far::new("a_run_over_ssh_gives_a_table_and_run_files") else { return };
    let finished = far.fixture.finish(far.run(""));
    finished.expect(0, &["[1/1]"]);
    assert!(!finished.stderr.contains("copying"), "{}", finished.stderr);
    for row in ["host, loads sized for 64M, ssh://127.0.0.1:", "noload "] {
        assert!(finished.stdout.contains(row), "{}", finished.stdout);
    }
    let run = far.fixture.run_file("001-noload");
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::Complete, Some(true)));
    let facts = run.header.unwrap().environment;
    let address = far.server.subject("");
    assert_eq!(facts["remote"], address.trim_end_matches(','));
    assert!(facts.contains_key("hostname") && facts.contains_key("kernel"), "{facts:?}");
    far.await_clean();
}

#[test]
fn ctrl_c_stops_the_run_there_and_cleans_up() {
    let Some(far) = Far::new("ctrl_c_stops_the_run_there_and_cleans_up") else { return };
    let mut running = far.fixture.start(far.run("--interval 1s --points 600"));
    far.fixture.await_text(&mut running, "001-noload", "\"kind\":\"sample\"");
    running.signal(Signal::INT);
    let finished = running.wait();
    assert_eq!(finished.code(), Some(130), "{finished:#?}");
    let run = far.fixture.run_file("001-noload");
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::Interrupted, Some(true)));
    far.await_clean();
}

#[test]
fn subjects_of_another_machine_are_levels_of_a_plan() {
    let Some(far) = Far::new("subjects_of_another_machine_are_levels_of_a_plan") else { return };
    let other = if sandbox_works() { "sandbox:mem=64M" } else { "host:mem=80M" };
    let [one, two] = ["host:mem=64M", other].map(|subject| far.server.subject(subject));
    let plan = format!(
        "name = \"two\"\nblocks = 1\n[base]\nprofile = \"quick\"\ninterval = \"200ms\"\npoints = 2\n\
         [[factor]]\nname = \"where\"\nparameter = \"subject\"\nlevels = [\"{one}\", \"{two}\"]\n"
    );
    let path = far.fixture.path().join("plan.toml");
    fs::write(&path, plan).unwrap();
    let (output, work) = (far.fixture.output(), far.fixture.work());
    let experiment = || {
        let mut command = far.fixture.thrashlab("experiment");
        command.env("THRASHLAB_SSH", far.server.ssh());
        command.arg(&path).arg("--output").arg(&output).arg("--work-dir").arg(&work);
        command
    };
    far.fixture.finish(experiment()).expect(0, &["2 runs"]);
    let runs = |ending: &str| {
        let names = fs::read_dir(&output).unwrap();
        names
            .filter(|name| name.as_ref().unwrap().path().to_string_lossy().ends_with(ending))
            .count()
    };
    assert_eq!(runs(".run.jsonl"), 2);
    far.await_clean();
    // All of it is there.
    far.fixture.finish(experiment()).expect(0, &[]);
    assert_eq!((runs(".run.jsonl"), runs("stopped-1.jsonl")), (2, 0));
    far.await_clean();
}
