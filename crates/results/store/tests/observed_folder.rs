//! Folders of runs, with and without the manifest of an experiment.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use analysis::comparison::{PairedBy, Request, compare};
use model::{
    MANIFEST_SCHEMA, MachineSpec, Manifest, ManifestFactor, ManifestRun, SubjectSpec, VmSpec,
};
use render::plain_text;
use report::comparison_document;
use results::manifest;
use store::observations;
use store::paired_runs::{ArmRuns, paired_runs};

/// Writes a run of a deterministic machine with three delays.
fn write(folder: &Path, name: &str, seed: u64, scale: u64) {
    let header = format!(
        r#"{{"kind":"header","schema":1,"run_id":"{name}","thrashlab":"0.1.0","started_unix_ns":7,"spec":{{"subject":{{"kind":"host","memory_bytes":1024}},"load":{{"name":"noload","version":1,"intensity":1.0}},"probe":{{"name":"response","version":1}},"timing":{{"profile":"quick","interval_ns":1000000000,"points":3,"warmup_ns":1,"timeout_ns":1}},"seed":{seed},"block":0,"order":0}},"environment":{{"vm_deterministic":"yes","kernel":"6.{scale}"}},"missed":[]}}"#
    );
    let mut text = header + "\n";
    for (index, base) in [1000, 2000, 9000].into_iter().enumerate() {
        let delay = base * scale + seed * 10;
        text.push_str(&format!(
            r#"{{"kind":"sample","at_ns":9,"index":{index},"intended_ns":0,"completed_ns":{delay},"before":{{}},"after":{{}}}}"#
        ));
        text.push('\n');
    }
    let blake3 = blake3::hash(text.as_bytes()).to_hex();
    let end = format!(r#"{{"kind":"end","at_ns":9,"status":"complete","blake3":"{blake3}"}}"#);
    fs::write(folder.join(format!("{name}.run.jsonl")), text + &end + "\n").unwrap();
}

fn manifest_of(factors: Vec<ManifestFactor>, runs: Vec<ManifestRun>) -> Manifest {
    Manifest {
        schema: MANIFEST_SCHEMA,
        thrashlab: "0.1.0".to_owned(),
        name: "x".to_owned(),
        factors,
        responses: Vec::new(),
        aliases: Vec::new(),
        runs,
        sweep: None,
        ab: None,
        plan: String::new(),
    }
}

#[test]
fn an_ensemble_is_compared_seed_by_seed() {
    let folder = tempfile::tempdir().unwrap();
    let mut runs = Vec::new();
    for seed in 1..=6 {
        for (level, scale) in [("old", 4), ("new", 5)] {
            let run_id = format!("{level}-{seed}");
            write(folder.path(), &run_id, seed, scale);
            let levels = BTreeMap::from([("kernel".to_owned(), level.to_owned())]);
            runs.push(ManifestRun { run_id, levels, block: 0, seed });
        }
    }
    write(folder.path(), "foreign", 1, 1);
    let levels = BTreeMap::from([("kernel".to_owned(), "new".to_owned())]);
    runs.push(ManifestRun { run_id: "not-made".to_owned(), levels, block: 0, seed: 7 });
    let levels = vec!["old".to_owned(), "new".to_owned()];
    let factors = vec![ManifestFactor { name: "kernel".to_owned(), levels }];
    manifest::write(&manifest_of(factors, runs), folder.path()).unwrap();
    let mut set = observations(&folder.path().to_string_lossy()).unwrap();
    set.name = "experiment".to_owned();
    assert_eq!(set.notes, ["not of the experiment, left out: foreign", "1 of 13 runs are missing"]);
    let request = Request { factor: Some("kernel".to_owned()), ..Request::default() };
    let found = compare(&[set], &request).unwrap();
    let cell = &found.cells[0];
    assert_eq!(cell.paired_by, Some(PairedBy::Seed));
    assert_eq!(cell.seeds.as_ref().unwrap().worse, 6);
    assert!(found.differences[0].compared, "the kernel is what is compared");
    insta::assert_snapshot!("ensemble", plain_text(&comparison_document(&found)));
}

/// Writes a run as `write` does, in a deterministic machine.
fn write_in_machine(folder: &Path, name: &str, seed: u64) {
    write(folder, name, seed, 1);
    let path = folder.join(format!("{name}.run.jsonl"));
    let machine = VmSpec {
        machine: MachineSpec::default(),
        kernel: "deb:linux".to_owned(),
        overlay: None,
        root: None,
        sandbox: None,
    };
    let machine = serde_json::to_string(&SubjectSpec::Vm(Box::new(machine))).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(r#"{"kind":"host","memory_bytes":1024}"#, &machine)).unwrap();
}

#[test]
fn runs_of_two_arms_are_pairs_by_seed() {
    let folder = tempfile::tempdir().unwrap();
    let levels = |kernel: &str, load: &str| {
        [("kernel", kernel), ("load", load)]
            .map(|(name, level)| (name.to_owned(), level.to_owned()))
    };
    let mut runs = Vec::new();
    for (kernel, load, seed) in [
        ("old", "noload", 1),
        ("new", "noload", 1),
        ("old", "cpuload", 1),
        ("new", "cpuload", 1),
        ("old", "noload", 2),
        ("new", "noload", 2),
        ("old", "noload", 3),
    ] {
        let run_id = format!("{kernel}-{load}-{seed}");
        write_in_machine(folder.path(), &run_id, seed);
        runs.push(ManifestRun { run_id, levels: levels(kernel, load).into(), block: 0, seed });
    }
    // Planned, and not there.
    let levels = levels("new", "noload").into();
    runs.push(ManifestRun { run_id: "new-noload-3".to_owned(), levels, block: 0, seed: 3 });
    manifest::write(&manifest_of(Vec::new(), runs), folder.path()).unwrap();
    let noload = BTreeMap::from([("load".to_owned(), "noload".to_owned())]);
    let all = BTreeMap::new();
    let arm =
        |level| ArmRuns { what: folder.path(), level: Some(("kernel", level)), levels: &noload };
    let names = |pairs: Vec<[PathBuf; 2]>| -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        pairs.iter().map(|pair| pair.each_ref().map(name).join(" ")).collect()
    };
    let found = names(paired_runs(&arm("old"), &arm("new")).unwrap());
    let pair = |seed| format!("old-noload-{seed}.run.jsonl new-noload-{seed}.run.jsonl");
    assert_eq!(found, [pair(1), pair(2)]);
    // Files without a manifest; a run of this host cannot be repeated.
    let file = |name: &str| folder.path().join(format!("{name}.run.jsonl"));
    let [old, new] = [file("old-noload-1"), file("new-noload-1")];
    let of_file = |what| ArmRuns { what, level: None, levels: &all };
    assert_eq!(names(paired_runs(&of_file(&old), &of_file(&new)).unwrap()), [pair(1)]);
    write(folder.path(), "host", 1, 1);
    assert_eq!(paired_runs(&of_file(&old), &of_file(&file("host"))).unwrap().len(), 0);
}

#[test]
fn a_run_file_and_a_folder_are_read_and_others_are_named() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "one", 1, 1);
    let file = folder.path().join("one.run.jsonl");
    for what in [folder.path(), &file] {
        let set = observations(&what.to_string_lossy()).unwrap();
        assert_eq!((set.trials.len(), set.deterministic), (1, true));
        assert_eq!(set.trials[0].values[0].at_bounds(), [1010.0, 2010.0, 9010.0]);
    }
    let renamed = folder.path().join("renamed");
    fs::copy(&file, &renamed).unwrap();
    assert_eq!(observations(&renamed.to_string_lossy()).unwrap().trials.len(), 1);
    let missing = observations("/no/such/file").unwrap_err().to_string();
    assert!(missing.starts_with("/no/such/file: "), "{missing}");
    let unknown = observations("reference:multics/experiment9").unwrap_err().to_string();
    assert!(unknown.contains("multics/experiment"), "{unknown}");
}
