//! The parts of a delay: what they sum to, what is unknown, and what is not counted twice.

use std::collections::BTreeMap;

use analysis::explained::{Account, Explained, Part, explain};
use model::{Censored, CounterSet, SampleRecord};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// Counters of which a sample has both ends: source, name, unit in ns.
const COUNTERS: [(&str, &str, u64); 12] = [
    ("rusage", "user_ns", 1),
    ("rusage", "system_ns", 1),
    ("schedstat", "wait_ns", 1),
    ("cpu_cgroup", "throttled_usec", 1000),
    ("taskstats", "blkio_delay_total_ns", 1),
    ("taskstats", "swapin_delay_total_ns", 1),
    ("taskstats", "thrashing_delay_total_ns", 1),
    ("taskstats", "freepages_delay_total_ns", 1),
    ("taskstats", "compact_delay_total_ns", 1),
    ("taskstats", "wpcopy_delay_total_ns", 1),
    ("taskstats", "irq_delay_total_ns", 1),
    ("taskstats", "irq_count", 1),
];

/// The part that a counter is named after.
const OWN: [(usize, Part); 10] = [
    (0, Part::User),
    (1, Part::System),
    (2, Part::CpuWait),
    (3, Part::Throttled),
    (4, Part::BlockIo),
    (5, Part::SwapIn),
    (6, Part::Thrashing),
    (7, Part::Reclaim),
    (8, Part::Compaction),
    (10, Part::Irq),
];

/// A sample that was to start at 1 s, with differences of counters in ns; a counter that is `None`
/// is missing.
fn sample(delay_ns: u64, counted_ns: &[Option<u64>]) -> SampleRecord {
    let intended_ns = 1_000 * MS;
    let (mut before, mut after) = (CounterSet::new(), CounterSet::new());
    for ((source, name, unit_ns), difference_ns) in COUNTERS.iter().zip(counted_ns) {
        let Some(difference_ns) = difference_ns else { continue };
        let start = 77;
        let entry = |set: &mut CounterSet, value| {
            set.entry((*source).into()).or_default().insert((*name).into(), value);
        };
        entry(&mut before, start);
        entry(&mut after, start + difference_ns / unit_ns);
    }
    SampleRecord {
        at_ns: intended_ns + delay_ns + MS,
        index: 3,
        intended_ns,
        started_ns: Some(intended_ns),
        completed_ns: Some(intended_ns + delay_ns),
        censored: None,
        censored_at_ns: None,
        parts: BTreeMap::new(),
        before,
        after,
    }
}

/// Differences in ms by their place in [`COUNTERS`], all others 0.
fn counted_ms(chosen: &[(usize, u64)]) -> Vec<Option<u64>> {
    let mut all = vec![Some(0); COUNTERS.len()];
    for (place, time_ms) in chosen {
        all[*place] = Some(time_ms * MS);
    }
    all
}

/// What is not 0, in ms.
fn told_ms(explained: &Explained) -> Vec<(Part, u64)> {
    let known = explained.parts_ns.iter().filter_map(|(part, ns)| Some((*part, (*ns)? / MS)));
    known.filter(|(_, time_ms)| *time_ms > 0).collect()
}

#[test]
fn states_are_told_as_they_are() {
    let counted = counted_ms(&[(0, 20), (1, 10), (2, 30), (4, 35)]);
    let explained = explain(&sample(100 * MS, &counted), None);
    let expected = [
        (Part::User, 20),
        (Part::System, 10),
        (Part::CpuWait, 30),
        (Part::BlockIo, 35),
        (Part::Remainder, 5),
    ];
    assert_eq!(told_ms(&explained), expected);
}

#[test]
fn a_wait_for_an_evicted_page_is_not_block_io_too() {
    // 60 ms of waiting for pages of the working set, read from swap, are counted three times.
    let counted = counted_ms(&[(0, 10), (2, 20), (4, 60), (5, 50), (6, 65)]);
    let explained = explain(&sample(100 * MS, &counted), None);
    let expected =
        [(Part::User, 10), (Part::CpuWait, 15), (Part::Thrashing, 65), (Part::Remainder, 10)];
    assert_eq!(told_ms(&explained), expected);
}

#[test]
fn swapping_in_less_thrashing_is_swap_in() {
    let counted = counted_ms(&[(4, 60), (5, 50), (6, 20)]);
    let explained = explain(&sample(100 * MS, &counted), None);
    let expected =
        [(Part::BlockIo, 10), (Part::SwapIn, 30), (Part::Thrashing, 20), (Part::Remainder, 40)];
    assert_eq!(told_ms(&explained), expected);
}

#[test]
fn before_5_17_swapping_in_was_not_block_io() {
    let mut counted = counted_ms(&[(4, 30), (5, 50)]);
    counted[8] = None;
    let explained = explain(&sample(100 * MS, &counted), None);
    let expected = [(Part::BlockIo, 30), (Part::SwapIn, 50), (Part::Remainder, 20)];
    assert_eq!(told_ms(&explained), expected);
    assert_eq!(explained.parts_ns[&Part::Compaction], None);
}

#[test]
fn a_copy_that_had_to_reclaim_first_is_reclaim_and_a_copy() {
    let counted = counted_ms(&[(1, 70), (2, 30), (7, 40), (8, 10), (9, 65)]);
    let explained = explain(&sample(100 * MS, &counted), None);
    let expected = [
        (Part::System, 5),
        (Part::CpuWait, 30),
        (Part::Reclaim, 40),
        (Part::Compaction, 10),
        (Part::CopyOnWrite, 15),
    ];
    assert_eq!(told_ms(&explained), expected);
}

#[test]
fn a_throttled_task_does_not_wait_for_others() {
    let counted = counted_ms(&[(2, 80), (3, 50)]);
    let explained = explain(&sample(100 * MS, &counted), None);
    let expected = [(Part::CpuWait, 30), (Part::Throttled, 50), (Part::Remainder, 20)];
    assert_eq!(told_ms(&explained), expected);
    // The CPUs of a group together may be throttled for longer than any thread waited.
    let counted = counted_ms(&[(2, 80), (3, 500)]);
    let explained = explain(&sample(100 * MS, &counted), None);
    assert_eq!(told_ms(&explained), [(Part::Throttled, 80), (Part::Remainder, 20)]);
}

#[test]
fn a_missed_start_belongs_to_the_sample_before() {
    let mut before_it = sample(0, &[]);
    // It ended 40 ms after this one was to start, and its counters were read 1 ms later.
    before_it.intended_ns = 500 * MS;
    before_it.completed_ns = Some(1_040 * MS);
    before_it.at_ns = 1_041 * MS;
    let mut late = sample(100 * MS, &counted_ms(&[(0, 50), (2, 5)]));
    late.started_ns = Some(1_046 * MS);
    let told = told_ms(&explain(&late, Some(&before_it)));
    let expected =
        [(Part::MissedStart, 41), (Part::User, 50), (Part::CpuWait, 5), (Part::Remainder, 4)];
    assert_eq!(told, expected);
    // One that ended in time only leaves a late wake-up, which is not a missed start.
    before_it.completed_ns = Some(990 * MS);
    assert_eq!(explain(&late, Some(&before_it)).parts_ns[&Part::MissedStart], Some(0));
}

#[test]
fn without_sources_nothing_is_known_and_nothing_is_zero() {
    let explained = explain(&sample(100 * MS, &[]), None);
    let known: Vec<(Part, u64)> =
        explained.parts_ns.iter().filter_map(|(part, ns)| Some((*part, (*ns)?))).collect();
    assert_eq!(known, [(Part::MissedStart, 0), (Part::Remainder, 100 * MS)]);
    assert_eq!(Account::from_samples([&explained]).explained_share(), Some(0.0));
    // A kernel without CONFIG_IRQ_TIME_ACCOUNTING answers with zeros.
    let explained = explain(&sample(100 * MS, &counted_ms(&[])), None);
    let mut silent = sample(100 * MS, &counted_ms(&[]));
    silent.after.get_mut("taskstats").unwrap().insert("irq_count".into(), 0);
    assert_eq!(explained.parts_ns[&Part::Irq], Some(0));
    assert_eq!(explain(&silent, None).parts_ns[&Part::Irq], None);
}

#[test]
fn a_sample_that_was_given_up_is_explained_by_what_is_left_to_read() {
    let mut sample = sample(100 * MS, &counted_ms(&[(2, 30), (4, 40)]));
    sample.completed_ns = None;
    sample.censored = Some(Censored::Timeout);
    sample.censored_at_ns = Some(sample.intended_ns + 100 * MS);
    for (set, ticks) in [(&mut sample.before, 5), (&mut sample.after, 7)] {
        set.remove("rusage");
        let names = ["utime_ticks", "stime_ticks"].map(|name| (name.into(), ticks));
        set.insert("task_stat".into(), names.into());
    }
    let expected = [(Part::User, 20), (Part::System, 20), (Part::CpuWait, 30), (Part::BlockIo, 30)];
    assert_eq!(told_ms(&explain(&sample, None)), expected, "ticks are whole: 110 ms in 100");
}

fn any_counted() -> impl Strategy<Value = Vec<Option<u64>>> {
    prop::collection::vec(prop::option::weighted(0.8, 0..2_000 * MS), COUNTERS.len())
}

proptest! {
    #[test]
    fn the_parts_sum_to_the_whole(
        delay_ns in 0..1_500 * MS,
        counted in any_counted(),
        other_end_ns in 0..3_000 * MS,
        read_ns in 0..100 * MS,
        late_ns in 0..2_000 * MS,
    ) {
        let mut sample = sample(delay_ns, &counted);
        sample.started_ns = Some(sample.intended_ns + late_ns);
        let before_it = SampleRecord {
            completed_ns: Some(other_end_ns),
            at_ns: other_end_ns + read_ns,
            ..sample.clone()
        };
        for before_it in [None, Some(&before_it)] {
            let explained = explain(&sample, before_it);
            prop_assert_eq!(explained.delay_ns, delay_ns);
            prop_assert_eq!(explained.parts_ns.len(), Part::ALL.len());
            prop_assert_eq!(explained.parts_ns.values().flatten().sum::<u64>(), delay_ns);
        }
    }

    #[test]
    fn a_part_is_unknown_exactly_if_its_source_is(delay_ns in 0..1_500 * MS, counted in any_counted()) {
        let explained = explain(&sample(delay_ns, &counted), None);
        for (place, part) in OWN.iter().filter(|(place, _)| *place < 10) {
            let known = match part {
                // What was throttled is taken from a wait that must be known.
                Part::Throttled => counted[2].is_some() && counted[3].is_some(),
                _ => counted[*place].is_some(),
            };
            prop_assert_eq!(explained.parts_ns[part].is_some(), known, "{:?}", part);
        }
    }

    #[test]
    fn more_of_a_counter_is_more_of_its_part_and_explains_no_less(
        delay_ns in 0..1_500 * MS,
        counted in any_counted(),
        chosen in 0..OWN.len(),
        more_ns in 0..500 * MS,
    ) {
        let (place, part) = OWN[chosen];
        let mut raised = counted.clone();
        // Interrupts that are not counted are unknown whatever their time.
        prop_assume!(part != Part::Irq || counted[11].is_some_and(|count| count > 0));
        raised[place] = counted[place].map(|time_ns| time_ns + more_ns);
        let [less, more] = [&counted, &raised].map(|it| explain(&sample(delay_ns, it), None).parts_ns);
        prop_assert!(more[&part] >= less[&part], "{:?}: {:?} {:?}", part, less, more);
        prop_assert!(more[&Part::Remainder] <= less[&Part::Remainder], "{:?} {:?}", less, more);
    }
}
