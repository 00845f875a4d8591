//! Recordings of the kernel's samples.

#[path = "../../../../tests/skip.rs"]
mod skip;

use std::hint::black_box;

use sys::perf_rings::{FaultKind, Observed, PerfRings, Recorded, SampledFaults};

/// So many faults are certain.
const FAULTS: usize = 32;
/// Distance between bytes of which each has a fault, whatever the size of a page.
const STEP: usize = 2 << 20;

/// Memory as large as this is always new, and goes back to the system.
fn fault() {
    let mut memory = vec![0_u8; FAULTS * STEP];
    memory.iter_mut().step_by(STEP).for_each(|byte| *byte = 1);
    black_box(memory);
}

#[test]
fn what_happens_after_the_end_is_neither_recorded_nor_counted() {
    let test = "what_happens_after_the_end_is_neither_recorded_nor_counted";
    let recorded = Recorded {
        frequency_hz: 99,
        switches_hz: Some(1000),
        stack_bytes: 4096,
        with_kernel: false,
        faults: Some(SampledFaults { kind: FaultKind::Minor, frequency_hz: 99 }),
        ring_pages: 8,
    };
    let this_thread = Observed::Threads(vec![rustix::thread::gettid().as_raw_pid() as u32]);
    let allowed = rustix::thread::sched_getaffinity(None).expect("own CPUs");
    let cpus: Vec<u32> = (0..1024_u32).filter(|cpu| allowed.is_set(*cpu as usize)).collect();
    let Ok(mut rings) = PerfRings::open(&this_thread, &recorded, &cpus) else {
        skip::skip(test, "perf_event_open is not permitted here");
        return;
    };
    fault();
    let totals = rings.stop().expect("the recording ends");
    let counted = totals.faults.expect("faults are counted");
    assert!(counted >= FAULTS as u64, "{counted} faults");
    rings.drain(|_| ());

    (0..50).for_each(|_| fault());
    let mut records = 0;
    rings.drain(|_| records += 1);
    assert_eq!(records, 0);
    let again = rings.stop().expect("the recording ends");
    assert_eq!((again.faults, again.lost), (totals.faults, totals.lost));
}
