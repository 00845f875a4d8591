//! `thrashlab sweep`: measured on the host, gone on with, read again; and the tables of 1990.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::left::{assert_nothing_left, queue_keys};
use crate::support::{Finished, Fixture};

/// A sweep that is over in seconds: a footprint, touched for a blink.
const TOUCH: &str = "sweep touch --range 1M..4M --subject host:mem=64M --coarse 3 --budget 12 \
    --set touch.time=5ms --set touch.limit=2s --output output --work-dir work";

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:#?}"))
}

fn files(fixture: &Fixture) -> BTreeSet<String> {
    let entries = fs::read_dir(fixture.output()).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_footprint_is_swept_once_and_read_again_and_again() {
    let fixture = Fixture::new();
    let finished = fixture.finish(fixture.thrashlab(&format!("{TOUCH} --json")));
    // How far it is, is said from time to time only.
    finished.expect(0, &["6 runs"]);
    let made = json(&finished);
    let points = made["curve"]["points"].as_array().unwrap();
    assert!(points.len() >= 6, "{made}");
    assert!(points.iter().all(|point| point["cost"].as_f64().unwrap() > 0.0), "{made}");
    assert_eq!(made["curve"]["level_unit"], "bytes");
    let levels: Vec<f64> =
        points[..6].iter().map(|point| point["level"].as_f64().unwrap() / 1_048_576.0).collect();
    assert_eq!(levels, [1.0, 2.0, 4.0, 4.0, 2.0, 1.0], "upwards and downwards");
    assert_nothing_left(&fixture, 0, &queue_keys(&fixture));

    let before = files(&fixture);
    let again = fixture.finish(fixture.thrashlab(&format!("{TOUCH} --json")));
    again.expect(0, &[]);
    assert_eq!(json(&again)["found"], made["found"], "the search goes the same way");
    assert_eq!(files(&fixture), before);
    assert!(!again.stderr.contains("[1/"), "no run starts: {}", again.stderr);

    let redrawn = fixture.finish(fixture.thrashlab("sweep --from output --json"));
    redrawn.expect(0, &[]);
    assert_eq!(json(&redrawn)["curve"]["points"], made["curve"]["points"]);
    let text = fixture.finish(fixture.thrashlab("sweep --from output --present 2M")).stdout;
    for words in ["touch_ns (ns) over touch.footprint", "\n   1M ", "nee", "job touch"] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
    fixture.finish(fixture.thrashlab("compare output --factor touch.footprint")).expect(0, &[]);

    // Other settings are another sweep.
    let other = format!("{TOUCH} --set touch.access=write");
    fixture.finish(fixture.thrashlab(&other)).expect(2, &["output holds", "--output DIR"]);
}

#[test]
fn a_sweep_that_was_stopped_goes_on_where_it_was() {
    let fixture = Fixture::new();
    let slow = TOUCH.replace("touch.time=5ms", "touch.time=300ms");
    let mut running = fixture.start(fixture.thrashlab(&slow));
    fixture.await_text(&mut running, "01-2M-seed1", "\"kind\":\"pass\"");
    running.signal(Signal::INT);
    let stopped = running.wait();
    stopped.expect(130, &["stopped; run the same command again"]);
    assert!(stopped.stdout.contains("\n   1M "), "what is known so far: {}", stopped.stdout);
    let first = fs::read(fixture.output().join("01-1M-seed1.run.jsonl")).unwrap();
    let finished = fixture.finish(fixture.thrashlab(&slow));
    finished.expect(0, &[]);
    assert!(!finished.stderr.contains("] 1M (seed 1)"), "{}", finished.stderr);
    assert_eq!(fs::read(fixture.output().join("01-1M-seed1.run.jsonl")).unwrap(), first);
    assert!(files(&fixture).iter().any(|name| name.starts_with("01-2M-seed1.stopped")));
}

#[test]
fn two_parameters_are_curves_side_by_side() {
    let fixture = Fixture::new();
    let by = TOUCH.replace("--budget 12", "--budget 4 --passes 1");
    let by = format!("{by} --by touch.pattern=sequential,chase");
    let finished = fixture.finish(fixture.thrashlab(&by));
    finished.expect(0, &["run files: output"]);
    for words in ["touch.pattern chase level n", "(columns) and touch.pattern (rows)"] {
        assert!(finished.sentences().contains(words), "{words:?} is not in\n{}", finished.stdout);
    }
    let read = json(&fixture.finish(fixture.thrashlab("sweep --from output --json")));
    assert_eq!(read["by"], "touch.pattern");
    assert_eq!(read["grid"]["rows"][1]["level"], "chase");
}

#[test]
fn a_plan_is_a_file_and_what_cannot_be_had_has_a_reason() {
    let fixture = Fixture::new();
    let plan = "name = \"host\"\n[base]\nprobe = \"wake\"\npoints = 2\ninterval = \"5ms\"\n\
        subject = \"host\"\n[sweep]\nover = \"subject.mem\"\nrange = \"64M..64T\"\ncoarse = 3\n\
        passes = 1\nbudget = 5\n";
    fs::write(fixture.path().join("plan.toml"), plan).unwrap();
    let arguments = "sweep plan.toml --output output --work-dir work";
    let finished = fixture.finish(fixture.thrashlab(arguments));
    finished.expect(0, &["64T is unavailable", "more than this machine has"]);
    assert!(finished.sentences().contains("more than this machine has"), "{}", finished.stdout);
    let read = json(&fixture.finish(fixture.thrashlab("sweep --from output --json")));
    let points = read["curve"]["points"].as_array().unwrap();
    assert!(points.iter().any(|point| point["cost"].is_null() && !point["problem"].is_null()));
    let printed = fixture.finish(fixture.thrashlab(&format!("{arguments} --dry-run")));
    for words in ["over = \"subject.mem\"", "range = \"64M..64T\"", "# First the coarse levels"] {
        assert!(printed.stdout.contains(words), "{words:?} is not in\n{}", printed.stdout);
    }
}

#[test]
fn irlams_program_loops_as_often_at_every_level() {
    let fixture = Fixture::new();
    let arguments = "sweep vmtest --range 1M..4M --subject host:mem=64M --coarse 3 --budget 6 \
        --set vmtest.process_size=1M --set vmtest.time=10ms --output output --work-dir work";
    let finished = fixture.finish(fixture.thrashlab(arguments));
    finished.expect(0, &["calibrating the loops", " loops\n"]);
    let loops = |name: &str| {
        let run = fixture.run_file(name);
        let model::Measure::Memory(job) = &run.header.unwrap().spec.measure else {
            panic!("a job")
        };
        job.params["loops"]
    };
    let first = loops("01-1M-seed1");
    assert!(first > 0);
    assert_eq!((loops("01-2M-seed1"), loops("01-4M-seed2")), (first, first));
    let again = fixture.finish(fixture.thrashlab(arguments));
    again.expect(0, &[]);
    assert!(!again.stderr.contains("calibrating"), "{}", again.stderr);
}

/// What is reported about a published table.
fn published(name: &str) -> String {
    let fixture = Fixture::new();
    let finished =
        fixture.finish(fixture.thrashlab(&format!("sweep --from reference:sun4/{name}")));
    finished.expect(0, &[]);
    finished.sentences()
}

#[test]
fn the_tables_of_1990_have_the_knee_that_they_were_published_for() {
    let old = published("vmtest-sparcstation1-old-hat");
    let is_theirs = |text: &str| {
        text.contains("Knee at 16.97 MB [")
            && text.contains("18 MB], a step: 16 MB is still on the plateau at 1.")
    };
    assert!(is_theirs(&old), "{old}");
    for sentence in
        ["Capacity, the last level at nine tenths of full speed: 16 MB.", "A fault costs 273us ± "]
    {
        assert!(old.contains(sentence), "{old}");
    }
    let both = published("vmtest-sparcstation1-new-hat");
    assert!(is_theirs(&both), "{both}");
    assert!(both.contains("table new: No knee up to 96 MB"), "{both}");
    let new = published("vmtest-sparcstation1plus-new-hat");
    assert!(new.contains("No knee up to 32 MB"), "{new}");
}

#[test]
fn what_is_no_sweep_is_refused_with_the_reason() {
    let fixture = Fixture::new();
    fs::write(fixture.path().join("bad.toml"), "name = \"x\"\n[sweep]\nrange = 1\n").unwrap();
    fs::write(fixture.path().join("table.csv"), "a,b\n1,2\n").unwrap();
    for (arguments, words) in [
        ("sweep", "<WHAT>"),
        ("sweep vmtst --range 1M..2M", "vmtest"),
        ("sweep vmtest", "2M..96M"),
        ("sweep vmtest --range 2M-96M", "FIRST..LAST"),
        ("sweep vmtest --range 2M..2M", "one level"),
        ("sweep touch --over touch.pages --range 1..2", "touch.pages is not a number"),
        ("sweep touch --range 1M..2M --set colour=red", "touch has no \"colour\""),
        ("sweep touch --range 1M..2M --by touch.pages", "PARAM=V1,V2"),
        ("sweep touch --range 1M..2M --budget 2", "too few"),
        ("sweep bad.toml", "line 3"),
        ("sweep none.toml", "none.toml"),
        ("sweep --from table.csv", "--level"),
        ("sweep --from table.csv --level a --cost c", "no column \"c\""),
        ("sweep --from reference:sun4/none", "did you mean"),
        ("sweep --from nowhere", "nowhere"),
        ("sweep vmtest --from table.csv", "cannot be used with"),
    ] {
        fixture.finish(fixture.thrashlab(arguments)).expect(2, &[words]);
    }
}
