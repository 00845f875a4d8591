//! Result files and folders of other programs, as their users have them, through the program.

use std::fs;
use std::path::Path;

use crate::support::{Finished, Fixture};

fn thrashlab(fixture: &Fixture, arguments: &str) -> Finished {
    fixture.finish(fixture.thrashlab(arguments))
}

/// Writes a file and the folders above it.
fn write(fixture: &Fixture, name: &str, text: &str) {
    let path = fixture.path().join(name);
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
    fs::write(path, text).unwrap();
}

/// A result file of the Phoronix Test Suite with these systems and their single values.
fn phoronix(systems: &[(&str, &str, &str)]) -> String {
    let mut text = "<?xml version=\"1.0\"?>\n<!--Phoronix Test Suite v10.8.4-->\n\
                    <PhoronixTestSuite>\n"
        .to_owned();
    let mut entries = String::new();
    for (system, kernel, single) in systems {
        text += &format!(
            "<System><Identifier>{system}</Identifier><Hardware>Processor: Some CPU</Hardware>\
             <Software>OS: Debian 12, Kernel: {kernel} (x86_64)</Software></System>\n"
        );
        let values: Vec<f64> = single.split(':').map(|it| it.parse().unwrap()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        entries += &format!(
            "<Entry><Identifier>{system}</Identifier><Value>{mean}</Value>\
             <RawString>{single}</RawString></Entry>\n"
        );
    }
    text + "<Result><Identifier>pts/build-linux-kernel-1.15.0</Identifier>\
            <Description>Build: defconfig</Description><Scale>Seconds</Scale>\
            <Proportion>LIB</Proportion><Data>\n"
        + &entries
        + "</Data></Result>\n</PhoronixTestSuite>\n"
}

#[test]
fn systems_of_the_phoronix_test_suite_get_a_verdict_in_one_file_in_two_and_in_a_folder() {
    let fixture = Fixture::new();
    let old = ("v6.1", "6.1.0", "70.1:70.4:69.9:70.2:70.0");
    let new = ("v6.12", "6.12.9", "80.3:80.1:80.6:80.2:80.5");
    write(&fixture, "both.xml", &phoronix(&[old, new]));
    write(&fixture, "f/1.xml", &phoronix(&[old]));
    write(&fixture, "f/2.xml", &phoronix(&[new]));
    for arguments in
        ["compare both.xml --factor system", "compare f/1.xml f/2.xml", "compare f --factor system"]
    {
        let found = thrashlab(&fixture, arguments);
        found.expect(0, &[]);
        assert!(found.stdout.contains("×1.15") && found.stdout.contains("regression"), "{found:?}");
        assert!(found.stdout.contains("kernel") && found.stdout.contains("6.12.9"), "{found:?}");
    }
    let others = [("a", "6.1.0", "1:2"), ("b", "6.2.0", "1:2")];
    write(&fixture, "others.xml", &phoronix(&others));
    let apart = thrashlab(&fixture, "compare both.xml others.xml");
    apart.expect(2, &["both.xml has v6.1, v6.12; others.xml has a, b", "--factor system"]);
    write(&fixture, "cut.xml", &phoronix(&[old])[..200]);
    thrashlab(&fixture, "show cut.xml").expect(2, &["cut.xml: line ", "not XML"]);
}

/// A run of MMTests with these times of kernbench and counts of will-it-scale, and a benchmark
/// that is not read.
fn mmtests(fixture: &Fixture, run: &str, kernel: &str, elapsed: [f64; 6], ops: u32) {
    let iteration = format!("{run}/iter-0");
    let uname = format!("Linux box {kernel} #1 SMP PREEMPT_DYNAMIC x86_64 GNU/Linux\n");
    write(fixture, &format!("{iteration}/kernel.version"), &uname);
    write(fixture, &format!("{iteration}/lscpu.txt"), "CPU(s):   8\nModel name:   Some CPU\n");
    let gzip = fixture.other("gzip").arg(format!("{iteration}/lscpu.txt")).status().unwrap();
    assert!(gzip.success());
    for (index, seconds) in elapsed.iter().enumerate() {
        let time = format!(
            "{seconds:.2}user 1.00system 0:{seconds:.2}elapsed 99%CPU (0avgtext+0avgdata \
             293048maxresident)k\n0inputs+0outputs (0major+8minor)pagefaults 0swaps\n"
        );
        write(fixture, &format!("{iteration}/kernbench/logs/time-8-{}", index + 1), &time);
    }
    let counts: String = (0..9).map(|at| format!("min:1 max:2 total:{}\n", ops + at)).collect();
    write(fixture, &format!("{iteration}/wis-mmap/logs/benchlog-mmap1_threads-2"), &counts);
    write(fixture, &format!("{iteration}/unixbench/logs/unixbench-1.log"), "9\n");
}

#[test]
fn runs_of_mmtests_get_a_verdict_and_what_was_not_read_is_named() {
    let fixture = Fixture::new();
    let old = [20.1, 20.3, 20.2, 20.0, 20.25, 20.15];
    mmtests(&fixture, "log/old", "6.1.0", old, 500_000);
    mmtests(&fixture, "log/new", "6.12.9", old.map(|it| it * 1.3), 500_100);
    for arguments in ["compare log/old log/new", "compare log/old/iter-0 log/new/iter-0"] {
        let found = thrashlab(&fixture, arguments);
        found.expect(0, &[]);
        let elapsed = found.stdout.lines().find(|it| it.starts_with("Elapsed")).unwrap();
        assert!(elapsed.contains("×1.30") && elapsed.contains("regression"), "{found:?}");
        let ops = found.stdout.lines().find(|it| it.starts_with("ops ")).unwrap();
        assert!(ops.contains("wis-mmap") && ops.contains("equivalent"), "{found:?}");
        assert!(found.stdout.contains("kernel"), "{found:?}");
        assert!(found.sentences().contains("not read: unixbench"), "{found:?}");
    }
    let runs = thrashlab(&fixture, "compare log --factor run");
    runs.expect(0, &[]);
    assert!(runs.stdout.contains("Comparison of run in log"), "{runs:?}");
    let table = thrashlab(&fixture, "export log/old --format csv");
    table.expect(0, &[]);
    assert!(table.stdout.contains("iter-0/kernbench/8/2,"), "{table:?}");
    write(&fixture, "other/iter-0/unixbench/logs/unixbench-1.log", "9\n");
    thrashlab(&fixture, "show other").expect(2, &["of unixbench these are read: kernbench"]);
    write(&fixture, "log/old/iter-0/dbench/logs/benchlog-tput-1.xz", "not compressed");
    thrashlab(&fixture, "show log/old").expect(2, &["dbench/logs/benchlog-tput-1.xz"]);
}

/// A result root of lkp-tests with six runs of will-it-scale, as its `stats.json` have them.
fn lkp(fixture: &Fixture, root: &str, ops: [u32; 6]) {
    for (run, ops) in ops.iter().enumerate() {
        let stats = format!(
            r#"{{"will-it-scale.per_process_ops": {ops}, "will-it-scale.workload": {ops},
              "will-it-scale.time.elapsed_time": 300.5, "vmstat.cpu.us": [1, 2, 3],
              "last_state.is_incomplete_run": {}, "proc-vmstat.pgfault": 123456}}"#,
            u32::from(run == 5)
        );
        write(fixture, &format!("{root}/{run}/stats.json"), &stats);
        let job = format!("testcase: will-it-scale\nid: {run}\n");
        write(fixture, &format!("{root}/{run}/job.yaml"), &job);
    }
}

#[test]
fn result_roots_of_lkp_get_a_verdict_and_are_written_for_bencher() {
    let fixture = Fixture::new();
    let below = "result/will-it-scale/performance-brk1/box-2c/debian-12/x86_64-config/gcc-12";
    let (old, new) = (format!("{below}/aaaa"), format!("{below}/bbbb"));
    lkp(&fixture, &old, [900_100, 903_400, 898_200, 905_000, 901_000, 899_300]);
    lkp(&fixture, &new, [700_000, 703_100, 698_700, 705_900, 701_500, 699_000]);
    let found = thrashlab(&fixture, &format!("compare {old} {new} --fail-on regression"));
    found.expect(1, &[]);
    assert!(found.sentences().contains("per_process_ops ×1.29 [1.28, 1.29]"), "{found:?}");
    assert!(found.stdout.contains("is_incomplete_run"), "{found:?}");
    assert!(found.stdout.contains("lkp_commit") && found.stdout.contains("bbbb"), "{found:?}");
    let other = below.replace("performance-brk1", "performance-mmap1") + "/bbbb";
    lkp(&fixture, &other, [700_001, 703_101, 698_701, 705_901, 701_501, 699_001]);
    let command = format!("compare {old} {other}");
    thrashlab(&fixture, &command).expect(2, &["performance-brk1", "performance-mmap1"]);
    let one = thrashlab(&fixture, &format!("show {old}/0"));
    one.expect(0, &[]);
    assert!(one.stdout.contains("900100"), "{one:?}");
    let other = format!("import {old} --response vmstat.cpu.us");
    let other = thrashlab(&fixture, &other);
    other.expect(0, &[]);
    assert!(other.sentences().contains("it is unknown whether more is better"), "{other:?}");
    thrashlab(&fixture, &format!("export {old} --format bencher -o bmf.json")).expect(0, &[]);
    let text = fs::read_to_string(fixture.path().join("bmf.json")).unwrap();
    let metrics: serde_json::Value = serde_json::from_str(&text).unwrap();
    let metric = &metrics["all"]["will-it-scale.per_process_ops"];
    assert_eq!(metric["lower_value"], 898_200.0, "{text}");
    assert_eq!(metric["upper_value"], 905_000.0, "{text}");
    write(&fixture, &format!("{new}/3/stats.json"), "{\"will-it-scale.per_process_ops\": \"x\"}");
    thrashlab(&fixture, &format!("show {new}")).expect(2, &["3/stats.json"]);
}

#[test]
fn reports_for_kcidb_have_a_test_for_each_trial_and_belong_to_a_build() {
    let fixture = Fixture::new();
    write(&fixture, "both.xml", &phoronix(&[("old", "6.1", "7.5:7.25:7.75")]));
    let command = "export both.xml --format kcidb --origin my_lab --build-id maestro:6a1f";
    thrashlab(&fixture, &format!("{command} --checkout-id maestro:1 -o report.json"))
        .expect(0, &[]);
    let text = fs::read_to_string(fixture.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["builds"][0]["checkout_id"], "maestro:1", "{text}");
    assert_eq!(report["tests"].as_array().unwrap().len(), 3, "{text}");
    let path = "thrashlab.phoronix.old.pts_build-linux-kernel-1_15_0__Build__defconfig";
    assert_eq!(report["tests"][1]["path"], path, "{text}");
    assert_eq!(report["tests"][1]["number"]["value"], 7.25, "{text}");
    let cases = [
        ("export both.xml --format kcidb --origin my_lab", "--build-id"),
        ("export both.xml --format kcidb --origin My --build-id maestro:1", "lower-case letters"),
        ("export both.xml --format kcidb --origin my_lab --build-id 1", "not the id of a build"),
        ("export both.xml --format csv --origin my_lab", "are for --format kcidb"),
    ];
    for (arguments, words) in cases {
        thrashlab(&fixture, arguments).expect(2, &[words]);
    }
}
