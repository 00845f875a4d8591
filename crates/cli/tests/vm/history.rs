//! A history of kernels: rows for what does not run, the same text again from its figures, one more
//! kernel.

use std::fs;

use crate::lab::Lab;
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
