//! Exact counts of small runs: a change of the code that is not meant to change what is simulated
//! changes none of them. Where one is meant to, `VERSION` grows too.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write;

use jobs::{MemoryJob, VmtestPlan};
use sun4::{MACHINES, MIXES, Machine, Mix, Setup, System, Workload, simulate};

fn setup(machine: &str, hat: &str, changes: &[(&str, &str)]) -> Setup {
    let (_, text) = MACHINES.iter().find(|(name, _)| *name == machine).unwrap();
    let mut setup = Setup::new(Machine::parse(text).unwrap(), System::named(hat).unwrap());
    changes.iter().for_each(|(name, value)| setup.set(name, value).unwrap());
    setup
}

fn vmtest(megabytes: u64) -> Workload {
    let plan = VmtestPlan {
        process_bytes: 2 << 20,
        processes: megabytes / 2,
        step_bytes: 4096,
        loops: 300,
        look_ns: 40_000_000,
        time_ns: 0,
        calibrated_processes: 1,
        limit_ns: 0,
    };
    Workload::of_job(&MemoryJob::Vmtest(plan)).unwrap()
}

#[test]
fn counts_are_what_they_were() {
    let mut text = String::new();
    let mut run =
        |name: &str, machine: &str, hat: &str, changes: &[(&str, &str)], workload: Workload| {
            let counts = simulate(&setup(machine, hat, changes), &workload, 3).counts();
            let counts: Vec<String> = counts.values().map(u64::to_string).collect();
            writeln!(text, "{name} {machine} {hat} {changes:?}\n  {}", counts.join(" ")).unwrap();
        };
    for (machine, _) in MACHINES {
        run("vmtest 20M", machine, "old", &[], vmtest(20));
    }
    for hat in System::names() {
        run("vmtest 24M", "sparcstation1", hat, &[], vmtest(24));
        run("vmtest 40M", "4-4xx", hat, &[("daemons", "multi")], vmtest(40));
    }
    for change in [
        ("libraries", "static"),
        ("sharing", "on"),
        ("victim", "random"),
        ("victim", "lru-visit"),
        ("reload", "walk"),
        ("reload", "entry"),
        ("swapping", "soft"),
        ("accounting", "exact"),
        ("smegs", "16"),
        ("software_pmegs", "100"),
    ] {
        run("vmtest 20M", "sparcstation1", "new", &[change], vmtest(20));
        let (name, text) = MIXES[1];
        run(name, "sparcstation1", "new", &[change], Workload::Mix(Mix::parse(text).unwrap()));
    }
    for (name, text) in MIXES {
        run(name, "4-3xx", "old", &[("contexts", "8")], Workload::Mix(Mix::parse(text).unwrap()));
    }
    insta::assert_snapshot!(text);
}
