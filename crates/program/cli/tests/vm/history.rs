//! A history of kernels: rows for what does not run, the same text again from its figures, one more
//! kernel.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::lab::{Lab, program};
use crate::support::Finished;

const SUITE: &str = "name = \"short\"\n[base]\nsubject = \"vm:machine=micro\"\n\
                     interval = \"200ms\"\npoints = 2\n[[measure]]\nname = \"idle\"\n\
                     [[measure]]\nname = \"busy\"\nset = { load = \"cpuload\" }\n";

fn history(lab: &Lab, arguments: &[&str]) -> Finished {
    lab.command(&[&["history"], arguments].concat())
}

#[test]
fn a_history_has_a_row_for_each_kernel_and_is_shown_again_from_its_figures() {
    const NAME: &str = "a_history_has_a_row_for_each_kernel_and_is_shown_again_from_its_figures";
    let Some(lab) = Lab::new(NAME) else { return };
    let machine = lab.machine();
    let kernel = machine.split_once("kernel=").unwrap().1;
    let folder = lab.fixture.path();
    fs::write(folder.join("suite.toml"), SUITE).unwrap();
    fs::write(folder.join("vmlinuz-9.1"), "no kernel").unwrap();
    let request = ["vmlinuz-9.1", kernel, "--suite", "suite.toml", "--seeds", "2", "-o", "output"];

    let first = history(&lab, &request);
    first.expect(0, &["2 kernels, 2 measures: 2 seeds of each at first"]);
    assert!(first.stdout.contains("9.1 does not run: not available: "), "{}", first.stdout);
    assert!(first.stdout.contains("idle") && first.stdout.contains("none"), "{}", first.stdout);
    assert_eq!(lab.files().len(), 4);
    let again = history(&lab, &request);
    again.expect(0, &["page: "]);
    assert!(!again.stderr.contains("virtual time"), "nothing runs: {}", again.stderr);
    assert_eq!(again.stdout, first.stdout);

    // The figures alone are enough.
    for (name, _) in lab.files() {
        fs::remove_file(lab.fixture.output().join(format!("{name}.run.jsonl"))).unwrap();
    }
    let shown = history(&lab, &["show", "output"]);
    shown.expect(0, &[]);
    assert_eq!(shown.stdout, first.stdout);
    history(&lab, &["show", "output", "-o", "page.html"]).expect(0, &["wrote page.html"]);
    let page = fs::read_to_string(folder.join("page.html")).unwrap();
    assert_eq!(page, fs::read_to_string(folder.join("output/history.html")).unwrap());

    fs::write(folder.join("vmlinuz-9.2"), "none either").unwrap();
    let figures = fs::read_to_string(folder.join("output/history.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    let own = fs::canonicalize(folder).unwrap();
    assert_eq!(figures["suite"]["folder"], own.to_str().unwrap(), "where its paths begin");
    let more = history(&lab, &["update", "output", "vmlinuz-9.2"]);
    more.expect(0, &["3 kernels, 2 measures"]);
    assert!(more.stdout.contains("9.2 does not run"), "{}", more.stdout);
    history(&lab, &[kernel, "--quick", "-o", "output"]).expect(2, &["another suite (short)"]);
}

#[test]
fn what_names_no_history_is_wrong_use() {
    let lab = Lab::without_guests();
    fs::create_dir(lab.fixture.path().join("empty")).unwrap();
    history(&lab, &["show", "empty"]).expect(2, &["no history.json in it", "thrashlab history"]);
    history(&lab, &["./none-*"]).expect(2, &["none-*: no kernel of this name", "vm kernels --all"]);
    history(&lab, &["host", "--suite", "empty/none.toml"]).expect(2, &["none.toml"]);
    history(&lab, &["host", "--measure", "spoon"]).expect(2, &["\"spoon\"; choose from idle"]);
    history(&lab, &[]).expect(2, &["KERNELS"]);
}

/// Mechanisms that need what only a guest has: swap, the rights of root, a disk, the log of the boot.
#[test]
fn mechanisms_have_a_cost_in_the_smallest_machine() {
    let Some(lab) = Lab::new("mechanisms_have_a_cost_in_the_smallest_machine") else { return };
    let machine = lab.machine();
    let kernel = machine.split_once("kernel=").unwrap().1;
    const NAMES: [&str; 8] =
        ["fork", "switch", "cow", "swap-out", "swap-in", "refault", "compaction", "boot"];
    let measure =
        |name: &&str| format!("[[measure]]\nname = {name:?}\nset = {{ mechanism = {name:?} }}\n");
    let measures: String = NAMES.iter().map(measure).collect();
    let suite = format!(
        "name = \"x\"\nresponses = [\"mechanism_ns\"]\n[base]\nsubject = \"vm:machine=micro\"\n\
         {measures}"
    );
    fs::write(lab.fixture.path().join("suite.toml"), suite).unwrap();
    let found = history(&lab, &[kernel, "--suite", "suite.toml", "--seeds", "1", "-o", "output"]);
    found.expect(0, &["1 kernel, 8 measures"]);
    let figures = fs::read_to_string(lab.fixture.output().join("history.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    for cell in figures["cells"].as_array().unwrap() {
        let (run, name) = (&cell["runs"][0], &cell["measure"]);
        assert_eq!(cell["response"], "mechanism_ns", "{name}: {run}");
        assert!(run["value"].as_f64().is_some_and(|cost_ns| cost_ns > 100.0), "{name}: {run}");
    }
    let unknown = ["--set", "mechanism=spoon", "--subject", &format!("vm:{machine}")];
    lab.command(&[&["run"], &unknown[..]].concat()).expect(2, &["no such mechanism; choose from"]);
    let on_host = ["run", "--set", "mechanism=cow", "--subject", "host"];
    lab.command(&on_host).expect(2, &["host has no kernel of its own: set subject=vm"]);
}

#[test]
fn a_fleet_makes_the_cells_of_a_history() {
    let Some(lab) = Lab::new("a_fleet_makes_the_cells_of_a_history") else { return };
    let machine = lab.machine();
    let kernel = machine.split_once("kernel=").unwrap().1;
    let folder = lab.fixture.path();
    fs::write(folder.join("suite.toml"), SUITE).unwrap();
    let driver = folder.join("python");
    // A fleet of this machine, by the options that its driver gets.
    let script = "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\n[ \"$5\" = broken ] && exit 7\n\
                  exec \"$THRASHLAB\" experiment \"$3\" --output \"$7\" --cells \"$9/cells\"\n";
    fs::write(&driver, script).unwrap();
    fs::set_permissions(&driver, fs::Permissions::from_mode(0o755)).unwrap();
    let on = |address: &str| {
        let mut command = lab.fixture.other(program());
        command.env("XDG_CACHE_HOME", &lab.cache).env("THRASHLAB_PYTHON", &driver);
        command.args(["history", kernel, "--suite", "suite.toml", "--seeds", "2", "-o", "output"]);
        command.args(["--fleet", address, "--store", "shared"]);
        lab.fixture.start(command).wait()
    };
    on("broken").expect(3, &["the fleet ended with code 7"]);
    on("local").expect(0, &["1 kernel, 2 measures"]);
    assert_eq!(
        (fs::read_dir(folder.join("shared/cells")).unwrap().count(), lab.files().len()),
        (4, 4)
    );
    let url = ["--fleet", "local", "--store", "s3://cells"];
    history(&lab, &[&[kernel][..], &url].concat()).expect(2, &["it is a folder"]);
}
