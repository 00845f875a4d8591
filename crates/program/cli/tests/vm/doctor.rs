//! Every condition that a guest can be made to have: the doctor names it first, for what it costs.
//!
//! A provocation runs twice, with the condition and without it; the cost of the condition follows
//! from the rates of the load's operations, and the doctor sees the run file's counters only.

use doctor::{Diagnosis, Interval, Severity, UnitCosts, diagnose, from_run};
use model::{EndStatus, Line, Run};

use crate::lab::Lab;

/// Delays are counted, and there is room for a current kernel besides the memory that loads are
/// sized to.
const MACHINE: &str = "sysctl.kernel.task_delayacct=1,kernel_mem=60M";
/// A probe that needs no memory, and times that let a slow load become warm.
const TIMES: &str = "--probe wake --interval 1s --warmup 30s --timeout 10s";

/// For what threads sleep in the kernel is counted, too.
const SLEEPS: &str = "sysctl.kernel.sched_schedstats=1";

/// How long a steady condition is measured, in seconds.
const STEADY_S: u8 = 2;

/// The one run of a load at an intensity, in a machine with these settings.
fn run(lab: &Lab, settings: &str, seconds: u8, load: &str, intensity: u8) -> Run {
    let lab = lab.sibling();
    let volume = match load {
        model::BASELINE => String::new(),
        _ => format!(" --intensity {intensity}"),
    };
    let arguments = format!("{TIMES} --points {seconds} --load {load}{volume}");
    lab.finish(&format!("{MACHINE},{settings}"), &arguments).expect(0, &[]);
    let (name, _) = lab.files().into_iter().find(|(name, _)| name.contains(load)).unwrap();
    let run = lab.fixture.run_file(&name);
    assert_eq!(run.status(), EndStatus::Complete, "{load}");
    run
}

/// Operations of the load a second.
fn rate(run: &Run) -> f64 {
    let delivered = run.lines.iter().find_map(|line| match line {
        Line::Delivered(delivered) => Some(delivered),
        _ => None,
    });
    let delivered = delivered.unwrap();
    delivered.totals["operations"] as f64 * 1e9 / delivered.elapsed_ns as f64
}

/// The doctor's report on a run.
fn diagnosis(run: &Run) -> Diagnosis {
    let (before, after) = from_run(run).unwrap();
    diagnose(&Interval::new(&before, &after), &UnitCosts::default())
}

/// Findings that are more than a note.
fn loud(diagnosis: &Diagnosis) -> Vec<&doctor::Finding> {
    diagnosis.findings.iter().filter(|found| found.severity() > Severity::Note).collect()
}

/// Provokes a condition and looks whether the doctor names it first, prices it within a factor of
/// two, sees nothing of another family, and sees nothing without it.
fn is_named(test: &str, settings: &str, rule: &str) {
    if let Some(lab) = Lab::new(test) {
        is_named_in(&lab, settings, STEADY_S, rule);
    }
}

/// Tests a condition as [`is_named`], in a machine with several virtual CPUs.
fn is_named_on_cpus(test: &str, settings: &str, rule: &str) {
    if let Some(lab) = Lab::with_engine(test) {
        is_named_in(&lab, settings, STEADY_S, rule);
    }
}

/// Tests a condition as [`is_named`], in this laboratory and with runs of so many seconds.
fn is_named_in(lab: &Lab, settings: &str, seconds: u8, rule: &str) {
    let load = format!("provoke-{rule}");
    let [healthy, ill] = [0, 1].map(|intensity| run(lab, settings, seconds, &load, intensity));
    let measured = 1.0 - rate(&ill) / rate(&healthy);
    let said = diagnosis(&ill);
    let first = said.findings.first().unwrap_or_else(|| panic!("nothing found: {said:#?}"));
    assert_eq!(first.rule, rule, "{said:#?}");
    // Only one process has the work to do: others of the load provoke it.
    let lost = first.lost().unwrap_or_else(|| panic!("no price: {first:#?}"));
    let share = lost.lost_ns as f64 / said.elapsed_ns as f64;
    assert!((measured / 2.0..=measured * 2.0).contains(&share), "{measured} measured: {first:#?}");
    assert!(loud(&said).iter().all(|found| found.family == first.family), "{said:#?}");
    let healthy = diagnosis(&healthy);
    assert!(loud(&healthy).is_empty(), "{healthy:#?}");
}

#[test]
fn swap_thrash_is_named() {
    is_named("swap_thrash_is_named", "swap=80M,disk.size=144M", "swap-thrash");
}

#[test]
fn a_livelock_at_memory_high_is_named() {
    let settings = "swap=0,sandbox.mem=40M,sandbox.high=20M";
    is_named("a_livelock_at_memory_high_is_named", settings, "memory-high");
}

#[test]
fn reclaim_of_the_machine_is_named() {
    is_named("reclaim_of_the_machine_is_named", "swap=0", "global-reclaim");
}

#[test]
fn throttled_writers_are_named() {
    // The disk is slower than the writer, and memory is larger than the file: nothing is reclaimed.
    let settings = "swap=0,kernel_mem=100M,disk.rate=10M";
    is_named("throttled_writers_are_named", settings, "writeback-throttle");
}

#[test]
fn eviction_by_somebody_else_is_named() {
    is_named("eviction_by_somebody_else_is_named", "swap=0,sandbox.mem=40M", "proactive-eviction");
}

#[test]
fn waits_for_compaction_are_named() {
    let Some(lab) = Lab::new("waits_for_compaction_are_named") else { return };
    // Nobody compacts beforehand. For seconds the kernel takes small pages, then it tries again.
    let settings = "swap=0,mem=160M,thp=madvise,thp_defrag=madvise,\
                    sysctl.vm.compaction_proactiveness=0";
    is_named_in(&lab, settings, 10, "compaction");
}

#[test]
fn shootdowns_on_several_cpus_are_named() {
    let Some(lab) = Lab::with_engine("shootdowns_on_several_cpus_are_named") else { return };
    let [healthy, ill] =
        [0, 1].map(|intensity| run(&lab, "cpus=2", STEADY_S, "provoke-shootdown", intensity));
    // Its price is an upper bound, which nothing measured can confirm.
    let said = diagnosis(&ill);
    assert!(said.findings.first().is_some_and(|first| first.rule == "shootdown"), "{said:#?}");
    let healthy = diagnosis(&healthy);
    assert!(healthy.findings.iter().all(|found| found.rule != "shootdown"), "{healthy:#?}");
}

#[test]
fn numa_hinting_on_several_cpus_is_named() {
    let settings = format!("cpus=2,nodes=2,{SLEEPS},swap=0,mem=160M");
    is_named_on_cpus("numa_hinting_on_several_cpus_is_named", &settings, "numa-hinting");
}

#[test]
fn lock_contention_on_several_cpus_is_named() {
    let settings = format!("cpus=2,{SLEEPS},swap=0");
    is_named_on_cpus("lock_contention_on_several_cpus_is_named", &settings, "lock-contention");
}

#[test]
fn a_storm_of_numa_hinting_is_named() {
    const NAME: &str = "a_storm_of_numa_hinting_is_named";
    // Nodes of a size: of a number of nodes the kernel makes one, with some sizes of memory.
    let settings = "swap=0,cmdline=numa=fake=192M,mem=160M,kernel_mem=246M,disk.size=16M";
    if let Some(lab) = Lab::new(NAME).and_then(|lab| lab.with_full_kernel(NAME)) {
        is_named_in(&lab, settings, STEADY_S, "numa-hinting");
    }
}

#[test]
fn a_healthy_machine_is_healthy() {
    const NAME: &str = "a_healthy_machine_is_healthy";
    let Some(lab) = Lab::new(NAME) else { return };
    for load in ["noload", "cpuload"] {
        let said = diagnosis(&run(&lab, "swap=0", STEADY_S, load, 1));
        assert!(loud(&said).is_empty(), "{load}: {said:#?}");
    }
}
