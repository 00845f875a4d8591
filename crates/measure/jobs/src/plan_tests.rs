//! Tests of reading specs.

use super::*;
use crate::Job;

fn plan(desc: Job, settings: &[(&str, &str)]) -> Result<MemoryJob, String> {
    let mut job = desc.spec();
    for (name, value) in settings {
        desc.set(&mut job, name, value)?;
    }
    MemoryJob::new(&job)
}

fn vmtest(settings: &[(&str, &str)]) -> VmtestPlan {
    match plan(VMTEST, settings) {
        Ok(MemoryJob::Vmtest(plan)) => plan,
        other => panic!("{other:?}"),
    }
}

#[test]
fn defaults_are_the_constants_of_1990() {
    let plan = vmtest(&[]);
    assert_eq!((plan.processes, plan.touches_a_loop()), (8, 512));
    assert_eq!(plan.look_ns, 40_000_000, "2 x 1/50 s");
    let other = model::JobSpec { name: "session".to_owned(), ..VMTEST.spec() };
    assert!(MemoryJob::new(&other).is_err());
}

#[test]
fn loops_fill_the_time_with_the_cpus_that_can_work() {
    let time = ("time", "2s");
    let (sixteen, one) = (vmtest(&[time]), vmtest(&[("size", "2M"), time]));
    // 2 s of 2 CPUs among 8 processes.
    assert_eq!(sixteen.calibrated_loops(500.0, 2000), 1_000_000);
    assert_eq!(sixteen.calibrated_loops(500.0, 500), 250_000);
    assert_eq!(one.calibrated_loops(500.0, 2000), 4_000_000, "a process has one CPU");
    assert_eq!(sixteen.calibrated_loops(1e12, 2000), 1);
    let point = vmtest(&[("size", "512M"), ("of_size", "16M"), time]);
    assert_eq!(point.calibrated_loops(500.0, 2000), 1_000_000, "the same work each");
}

#[test]
fn what_contradicts_itself_is_told_with_a_way_out() {
    type Case = (Job, &'static [(&'static str, &'static str)], &'static str);
    let cases: [Case; 12] = [
        (VMTEST, &[("size", "3M")], "take 2M"),
        (VMTEST, &[("size", "1M")], "take 2M"),
        (VMTEST, &[("size", "2M"), ("of_size", "3M")], "of_size=3M"),
        (VMTEST, &[("size", "1T"), ("process_size", "4096")], "larger process_size"),
        (VMTEST, &[("step", "4M")], "larger than process_size"),
        (TOUCH, &[("footprint", "4096"), ("step", "8192")], "larger than footprint"),
        (TOUCH, &[("pattern", "strided"), ("stride", "6000")], "multiple of step"),
        (TOUCH, &[("pattern", "chase"), ("step", "100")], "multiple of 8"),
        (TOUCH, &[("spread", "5000")], "multiple of the page size, 4096"),
        (TOUCH, &[("spread", "2M"), ("pages", "thp")], "small pages"),
        (TOUCH, &[("backing", "file"), ("pages", "hugetlb")], "small pages"),
        (TOUCH, &[("footprint", "1G"), ("spread", "1T")], "address space"),
    ];
    for (desc, settings, words) in cases {
        let why = plan(desc, settings).expect_err(words);
        assert!(why.contains(words), "{words:?} is not in {why:?}");
    }
}

#[test]
fn the_need_counts_page_tables() {
    let need = |settings: &[(&str, &str)]| plan(TOUCH, settings).expect("a plan").need_bytes();
    let mib = |bytes: u64| bytes >> 20;
    assert_eq!(mib(need(&[("footprint", "64M")])), 64);
    // A page-table page for each page.
    assert_eq!(mib(need(&[("footprint", "64M"), ("spread", "2M")])), 128);
    assert_eq!(mib(need(&[("footprint", "64M"), ("processes", "10")])), 641);
    let shared = [("footprint", "1G"), ("processes", "1000"), ("backing", "shm")];
    // 2 MiB of page tables in each of 1000 processes are more than the segment.
    assert_eq!(mib(need(&shared)), 3094);
    assert!(need(&[("footprint", "64G"), ("pages", "hugetlb")]) < 1 << 20);
    assert_eq!(mib(plan(VMTEST, &[("size", "512M")]).expect("a plan").need_bytes()), 21);
}
