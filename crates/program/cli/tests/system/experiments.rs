//! `thrashlab experiment`: what is planned is carried out once, whatever comes between.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use model::{EndStatus, Manifest, Run};
use rustix::process::Signal;

use crate::left::{assert_nothing_left, queue_keys};
use crate::skip::skip;
use crate::support::{Finished, Fixture, Running, is_root};

/// A plan on the host that is over soon: two lengths of a run, two blocks.
const SOON: &str = r#"
name = "soon"
seeds = [1, 2]
[base]
subject = "host:mem=64M"
load = "noload"
interval = "20ms"
[[factor]]
name = "length"
parameter = "points"
levels = [1, 2]
"#;

/// The plan [`SOON`] with runs long enough to be interrupted.
fn slow() -> String {
    SOON.replace("20ms", "150ms").replace("[1, 2]\n[base]", "[1]\n[base]").replace(
        "levels = [1, 2]",
        "levels = [{ name = \"a/b\", value = 5 }, { name = \"a_b\", value = 6 }]",
    )
}

/// Writes the plan and starts the experiment next to it.
fn start(fixture: &Fixture, plan: &str, arguments: &str) -> Running {
    fs::write(fixture.path().join("plan.toml"), plan).unwrap();
    let usual = "experiment plan.toml --output output --work-dir work";
    fixture.start(fixture.thrashlab(&format!("{usual} {arguments}")))
}

fn experiment(fixture: &Fixture, plan: &str, arguments: &str) -> Finished {
    start(fixture, plan, arguments).wait()
}

fn manifest(fixture: &Fixture) -> Manifest {
    results::manifest::read(&fixture.output()).unwrap().expect("a manifest")
}

/// The manifest's runs, which must all be there, in the order in which they ran.
fn in_time(fixture: &Fixture) -> Vec<(String, Run)> {
    let runs = manifest(fixture).runs;
    let mut runs: Vec<(String, Run)> =
        runs.into_iter().map(|run| (run.run_id.clone(), fixture.run_file(&run.run_id))).collect();
    runs.sort_by_key(|(_, run)| run.header.as_ref().unwrap().started_unix_ns);
    runs
}

fn names(runs: &[(String, Run)]) -> Vec<&str> {
    runs.iter().map(|(name, _)| name.as_str()).collect()
}

fn started(fixture: &Fixture, name: &str) -> u64 {
    fixture.run_file(name).header.unwrap().started_unix_ns
}

/// Everything in the folder of the experiment, by name.
fn entries(fixture: &Fixture) -> BTreeSet<String> {
    let entries = fs::read_dir(fixture.output()).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn path(fixture: &Fixture, name: &str) -> PathBuf {
    fixture.output().join(format!("{name}.run.jsonl"))
}

#[test]
fn a_plan_is_carried_out_in_its_order_and_only_once() {
    let fixture = Fixture::new();
    let finished = experiment(&fixture, SOON, "");
    finished.expect(0, &["4 runs", "thrashlab compare output --factor length"]);
    assert!(finished.stdout.contains("length"), "{}", finished.stdout);
    let planned = manifest(&fixture);
    let order: Vec<&str> = planned.runs.iter().map(|run| run.run_id.as_str()).collect();
    let made = in_time(&fixture);
    assert_eq!((names(&made), order.len()), (order.clone(), 4));
    assert_eq!(planned.plan, SOON);
    for (position, ((_, run), planned)) in made.iter().zip(&planned.runs).enumerate() {
        assert_eq!((run.status(), run.checksum_ok), (EndStatus::Complete, Some(true)));
        let spec = &run.header.as_ref().unwrap().spec;
        assert_eq!(
            (spec.order as usize, spec.block, spec.seed),
            (position, planned.block, planned.seed)
        );
        assert_eq!(spec.timing.points.to_string(), planned.levels["length"]);
    }
    // ABBA.
    assert_eq!(planned.runs[0].levels, planned.runs[3].levels);
    assert_eq!(planned.runs[1].levels, planned.runs[2].levels);

    let before = made.clone();
    let again = experiment(&fixture, SOON, "");
    again.expect(0, &["4 runs already existed"]);
    assert!(!again.stderr.contains("points"), "nothing was started: {}", again.stderr);
    assert_eq!(again.stdout, finished.stdout);
    assert!(in_time(&fixture) == before);

    experiment(&fixture, SOON, "--blocks 3").expect(0, &["4 runs already existed", "2 runs, "]);
    let more = in_time(&fixture);
    assert!(more[..4] == before[..] && more.len() == 6, "{:?}", names(&more));
    assert!(more[4..].iter().all(|(name, _)| name.ends_with("-seed3")), "{:?}", names(&more));
    assert_nothing_left(&fixture, 0, &queue_keys(&fixture));
}

#[test]
fn what_is_missing_or_cut_off_is_made_again_and_nothing_else() {
    let fixture = Fixture::new();
    experiment(&fixture, SOON, "").expect(0, &[]);
    let before = in_time(&fixture);
    let (gone, cut, empty) = (before[0].0.as_str(), before[1].0.as_str(), before[2].0.as_str());
    fs::remove_file(path(&fixture, gone)).unwrap();
    let bytes = fixture.run_bytes(cut);
    fs::write(path(&fixture, cut), &bytes[..bytes.len() * 2 / 3]).unwrap();
    fs::write(path(&fixture, empty), "").unwrap();
    let again = experiment(&fixture, SOON, "");
    again.expect(0, &["1 run already existed", "3 runs, "]);
    let after = in_time(&fixture);
    assert_eq!(after[0], before[3], "the whole one stays as it was");
    assert_eq!(names(&after)[1..], names(&before)[..3]);
    let aside = fixture.output().join(format!("{cut}.stopped-1.jsonl"));
    assert_eq!(fs::read(aside).unwrap(), bytes[..bytes.len() * 2 / 3]);
    experiment(&fixture, SOON, "").expect(0, &["4 runs already existed"]);
}

#[test]
fn asked_to_stop_or_killed_it_leaves_nothing_and_goes_on() {
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let fixture = Fixture::new();
        let plan = slow();
        let mut running = start(&fixture, &plan, "");
        running.await_that("the manifest", || {
            results::manifest::read(&fixture.output()).is_ok_and(|found| found.is_some())
        });
        let order: Vec<String> =
            manifest(&fixture).runs.into_iter().map(|run| run.run_id).collect();
        fixture.await_text(&mut running, &order[1], "\"phase\":\"measuring\"");
        let (pid, queues) = (running.pid(), queue_keys(&fixture));
        running.signal(signal);
        let finished = running.wait();
        assert_eq!(finished.code(), code, "{finished:#?}");
        if signal == Signal::INT {
            finished.expect(130, &["run the same command again to resume it (output)"]);
            assert!(!finished.stderr.contains("skipped"), "{}", finished.stderr);
        }
        assert_nothing_left(&fixture, pid, &queues);
        assert_eq!(fixture.run_file(&order[0]).status(), EndStatus::Complete);
        assert_ne!(fixture.run_file(&order[1]).status(), EndStatus::Complete);
        let first = started(&fixture, &order[0]);

        experiment(&fixture, &plan, "").expect(0, &["1 run already existed", "1 run, "]);
        assert_eq!(started(&fixture, &order[0]), first, "a finished run is not repeated");
        assert_eq!(fixture.run_file(&order[1]).status(), EndStatus::Complete);
        assert!(entries(&fixture).contains(&format!("{}.stopped-1.jsonl", order[1])));
    }
}

#[test]
fn all_that_cannot_be_set_is_named_before_anything_is_run() {
    let fixture = Fixture::new();
    let plan = r#"
name = "impossible"
blocks = 1
[base]
subject = "host:mem=64M"
points = 1
[[factor]]
name = "first"
levels = [
  { name = "fine", set = { load = "noload" } },
  { name = "unknown load", set = { load = "nolod" } },
  { name = "two sysctls", set = { sysctl.vm.no_such = 1, sysctl.kernel.neither = 2 } },
  { name = "no kernel", set = { subject = "vm:machine=micro", kernel = "/no/such/vmlinuz" } },
  { name = "no overlay", set = { subject = "vm:machine=micro", overlay = "no-such-folder" } },
  { name = "no program", set = { job = "session", session.script = "no-such.toml" } },
  { name = "no memory", set = { subject = "host:mem=900T" } },
  { name = "not built", build = "echo broken compiler >&2; exit 3" },
]
"#;
    let finished = experiment(&fixture, plan, "");
    finished.expect(
        3,
        &[
            "level unknown load: load: no load is named \"nolod\"",
            "vm.no_such: no such kernel parameter",
            "kernel.neither: no such kernel parameter",
            "/no/such/vmlinuz",
            "no-such-folder",
            "no-such.toml",
            "900T",
            "level not built",
            "broken compiler",
        ],
    );
    assert!(!fixture.output().exists(), "{:?}", entries(&fixture));
    assert_nothing_left(&fixture, 0, &queue_keys(&fixture));
    // A check reports the same.
    experiment(&fixture, plan, "--check").expect(3, &["nolod", "vm.no_such", "not built"]);
}

#[test]
fn a_folder_of_something_else_is_refused_with_the_next_step() {
    let fixture = Fixture::new();
    experiment(&fixture, SOON, "--blocks 1").expect(0, &[]);
    let before = in_time(&fixture);
    for other in [
        SOON.replace("levels = [1, 2]", "levels = [1, 3]"),
        SOON.replace("\"length\"", "\"width\""),
        SOON.replace("\"soon\"", "\"late\""),
    ] {
        experiment(&fixture, &other, "").expect(2, &["output holds", "--output DIR"]);
    }
    assert!(in_time(&fixture) == before);
    fs::remove_file(fixture.output().join(results::manifest::FILE)).unwrap();
    experiment(&fixture, SOON, "").expect(2, &["belong to no experiment", "--output DIR"]);
    fs::write(fixture.output().join(results::manifest::FILE), "{").unwrap();
    experiment(&fixture, SOON, "").expect(2, &["experiment.json", "line 1"]);
}

#[test]
fn runs_of_other_settings_do_not_count_although_their_levels_have_the_same_names() {
    let fixture = Fixture::new();
    experiment(&fixture, SOON, "--blocks 1").expect(0, &[]);
    let larger = SOON.replace("mem=64M", "mem=96M");
    experiment(&fixture, &larger, "--blocks 1").expect(0, &["2 runs, "]);
    for (name, run) in in_time(&fixture) {
        assert_eq!(run.header.unwrap().spec.subject.memory_bytes(), 96 << 20, "{name}");
    }
    assert_eq!(entries(&fixture).iter().filter(|name| name.contains(".stopped-1.")).count(), 2);
}

#[test]
fn blocks_of_several_starts_are_kept_apart() {
    let fixture = Fixture::new();
    experiment(&fixture, SOON, "--seeds 1..2").expect(0, &[]);
    experiment(&fixture, SOON, "--seeds 7..8").expect(0, &["4 runs, "]);
    let runs = manifest(&fixture).runs;
    let blocks: BTreeSet<u32> = runs.iter().map(|run| run.block).collect();
    let pairs: BTreeSet<(u32, u64)> = runs.iter().map(|run| (run.block, run.seed)).collect();
    assert_eq!((runs.len(), blocks.len(), pairs.len()), (8, 4, 4), "{pairs:?}");
}

#[test]
fn a_fraction_is_printed_with_its_aliases_and_a_check_with_its_time() {
    let fixture = Fixture::new();
    let factor = |name: &str, parameter: &str, levels: &str| {
        format!("[[factor]]\nname = \"{name}\"\nparameter = \"{parameter}\"\nlevels = {levels}\n")
    };
    let plan = [
        "name = \"fraction\"\ndesign = \"resolution-5\"\nblocks = 2\n[base]\nsubject = \"host:mem=64M\"\n".to_owned(),
        factor("a", "points", "[10, 20]"),
        factor("b", "interval", "[\"100ms\", \"200ms\"]"),
        factor("c", "warmup", "[\"1s\", \"2s\"]"),
        factor("d", "timeout", "[\"30s\", \"40s\"]"),
        factor("e", "load.intensity", "[0.5, 1.0]"),
    ]
    .concat();
    let text = experiment(&fixture, &plan, "--dry-run");
    text.expect(0, &[]);
    for words in ["a x b = c x d x e", "16", "-seed1"] {
        assert!(text.stdout.contains(words), "{words:?} is not in\n{}", text.stdout);
    }
    let json = experiment(&fixture, &plan, "--dry-run --json");
    let printed: Manifest = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((printed.runs.len(), printed.aliases.len()), (32, 15));
    assert!(printed.aliases.contains(&"a x b = c x d x e".to_owned()), "{:?}", printed.aliases);

    let check = experiment(&fixture, &plan, "--check");
    check.expect(0, &["confounded in this fraction: a x b = c x d x e"]);
    assert!(check.sentences().contains("one at a time: 32, about"), "{}", check.stdout);
    let check = experiment(&fixture, &plan, "--check --json");
    let outlook: serde_json::Value = serde_json::from_str(&check.stdout).unwrap();
    assert_eq!((&outlook["found"], &outlook["on_host"]), (&0.into(), &32.into()));
    // 15 points every 150 ms on average, and more for start and end.
    assert!(outlook["on_host_ns"].as_u64().unwrap() > 32 * 2_000_000_000, "{outlook}");
    assert!(!fixture.output().exists(), "{:?}", entries(&fixture));
    assert_nothing_left(&fixture, 0, &queue_keys(&fixture));
}

/// A kernel parameter whose value harms nobody: how often statistics are gathered, in seconds.
const HARMLESS: &str = "/proc/sys/vm/stat_interval";

#[test]
fn a_kernel_parameter_is_set_for_its_runs_and_put_back_whatever_happens() {
    const NAME: &str = "a_kernel_parameter_is_set_for_its_runs_and_put_back_whatever_happens";
    if !is_root() {
        return skip(NAME, "only root can set kernel parameters");
    }
    let before = fs::read_to_string(HARMLESS).unwrap();
    if fs::write(HARMLESS, &before).is_err() {
        return skip(NAME, "kernel parameters cannot be set here");
    }
    let value = || fs::read_to_string(HARMLESS).unwrap();
    let fixture = Fixture::new();
    let plan = slow()
        .replace("parameter = \"points\"", "parameter = \"sysctl.vm.stat_interval\"")
        .replace("value = 5", "value = 7")
        .replace("value = 6", "value = 9")
        .replace("interval = \"150ms\"", "interval = \"150ms\"\npoints = 3");
    let mut running = start(&fixture, &plan, "");
    let mut seen = BTreeSet::new();
    while running.ended().is_none() {
        seen.insert(value());
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    running.wait().expect(0, &[]);
    assert!(seen.contains("7\n") && seen.contains("9\n"), "{seen:?}");
    assert_eq!(value(), before);
    for (name, run) in in_time(&fixture) {
        let set = &run.header.unwrap().spec.sysctls["vm.stat_interval"];
        assert!(["7", "9"].contains(&set.as_str()), "{name}: {set}");
    }

    fs::remove_dir_all(fixture.output()).unwrap();
    let mut running = start(&fixture, &plan, "");
    running.await_that("the parameter is set", || value() != before);
    let (pid, queues) = (running.pid(), queue_keys(&fixture));
    running.signal(Signal::KILL);
    running.wait();
    assert_nothing_left(&fixture, pid, &queues);
    assert_eq!(value(), before, "the cleanup process puts it back");

    let _ = fs::remove_dir_all(fixture.output());
    let wrong = plan.replace("value = 9", "value = \"many\"");
    experiment(&fixture, &wrong, "").expect(3, &["vm.stat_interval", "Invalid argument"]);
    assert_eq!(value(), before);
    assert!(!fixture.output().exists(), "no run was executed");
}

#[test]
fn levels_are_not_repetitions_of_each_other() {
    let fixture = Fixture::new();
    experiment(&fixture, SOON, "").expect(0, &[]);
    let shown = fixture.finish(fixture.thrashlab("show output"));
    shown.expect(0, &[]);
    let [short, long] = ["length=1", "length=2"].map(|level| shown.stdout.find(level).unwrap());
    assert!(short < long, "{shown:?}");
    let json = fixture.finish(fixture.thrashlab("show output --json"));
    let read: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let lengths = [0, 1].map(|at| read[at]["levels"]["length"].as_str().unwrap().to_owned());
    assert_eq!(lengths, ["1", "2"]);
    let results = [0, 1].map(|at| &read[at]["result"]["rows"]);
    assert!(results[0].is_array() && results[0] != results[1], "{read}");
}
