//! Synthetic runs: freezes of a known length, runs that were cut off, and each victim.

use std::collections::BTreeMap;

use model::{
    Censored, CounterSet, Delivered, End, EndStatus, Header, Line, LoadSpec, Measure, Observation,
    ProbeSpec, Run, SampleRecord, Spec, SubjectSpec, Timing,
};
use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;
const INTERVAL_NS: u64 = 500 * MS;
const IDLE_NS: u64 = 80 * MS;
/// Samples before the load begins.
const LEAD: u64 = 6;

fn header() -> Header {
    let load = LoadSpec {
        name: "exhaust-leak".into(),
        version: 1,
        intensity: 1.0,
        params: BTreeMap::new(),
    };
    let probe = ProbeSpec { name: "response".into(), version: 1, params: BTreeMap::new() };
    let timing = Timing {
        profile: "custom".into(),
        interval_ns: INTERVAL_NS,
        points: 60,
        warmup_ns: 0,
        timeout_ns: 60_000 * MS,
    };
    Header {
        schema: 1,
        run_id: "a".into(),
        thrashlab: "0".into(),
        started_unix_ns: 0,
        spec: Spec {
            subject: SubjectSpec::Host { memory_bytes: 1 << 20 },
            load,
            measure: Measure::Probe(probe),
            timing,
            sysctls: BTreeMap::new(),
            seed: 7,
            block: 0,
            order: 0,
        },
        environment: BTreeMap::new(),
        origins: BTreeMap::new(),
        missed: Vec::new(),
    }
}

fn counters(started: u64, oom_kill: u64) -> CounterSet {
    let load = [("offenders_started".into(), started)].into_iter().collect();
    let vmstat = [("oom_kill".into(), oom_kill)].into_iter().collect();
    [("load".into(), load), ("vmstat".into(), vmstat)].into_iter().collect()
}

/// A run of an open loop on a machine that stands still in these times, from and to in ns, cut off
/// at `end_ns`.
fn run(
    points: u64,
    frozen: &[(u64, u64)],
    end_ns: u64,
    status: EndStatus,
    killed: [u64; 3],
) -> Run {
    let [offenders, bystanders, all] = killed;
    let mut lines = Vec::new();
    let mut now_ns = 0;
    for index in 0..points {
        let intended_ns = (index + 1) * INTERVAL_NS;
        if intended_ns > end_ns {
            break;
        }
        let started_ns = intended_ns.max(now_ns);
        let mut completed_ns = started_ns + IDLE_NS;
        for (from_ns, to_ns) in frozen {
            if started_ns < *to_ns && completed_ns > *from_ns {
                completed_ns += to_ns - (*from_ns).max(started_ns);
            }
        }
        now_ns = completed_ns;
        let is_complete = completed_ns <= end_ns;
        let started = u64::from(index >= LEAD);
        lines.push(Line::Sample(Box::new(SampleRecord {
            at_ns: completed_ns.min(end_ns),
            index: index as u32,
            intended_ns,
            started_ns: (started_ns <= end_ns).then_some(started_ns),
            completed_ns: is_complete.then_some(completed_ns),
            censored: (!is_complete).then_some(Censored::RunEnded),
            censored_at_ns: (!is_complete).then_some(end_ns),
            before: counters(started, 0),
            after: counters(started, if started > 0 { all } else { 0 }),
            ..SampleRecord::default()
        })));
    }
    let totals = [
        ("offenders_killed", offenders),
        ("bystanders_killed", bystanders),
        ("first_kill_after_ns", 2_500 * MS * u64::from(offenders + bystanders > 0)),
    ];
    lines.push(Line::Delivered(Delivered {
        at_ns: end_ns,
        unit: String::new(),
        intended: 0,
        delivered: 0,
        elapsed_ns: end_ns,
        totals: totals.map(|(name, count)| (name.into(), count)).into_iter().collect(),
    }));
    lines.push(Line::End(End { at_ns: end_ns, status, blake3: String::new() }));
    Run { header: Some(header()), lines, ..Run::default() }
}

const NOBODY: [u64; 3] = [0; 3];
const WITH_DAEMON: Circumstances = Circumstances { has_daemon: true, ..ALONE };
const ALONE: Circumstances =
    Circumstances { has_daemon: false, die_together: false, is_healthy: false };

/// The measures of a run without a daemon.
fn measures(run: &Run) -> FreezeRun {
    freeze_run(run, ALONE).unwrap()
}

/// What a daemon ends gets SIGTERM, which the load counts as refused. The bystander touches memory up to
/// this sample.
fn ended_by_a_daemon(refused: u64, last_touch: u64) -> Run {
    let mut run = run(60, &[], u64::MAX, EndStatus::Complete, NOBODY);
    for line in &mut run.lines {
        match line {
            Line::Sample(sample) => {
                let touches = (u64::from(sample.index) + 1).min(last_touch);
                let load = sample.after.get_mut("load").unwrap();
                load.insert("bystander_touches".into(), touches);
            }
            Line::Delivered(delivered) => {
                delivered.totals.insert("offenders_refused".into(), refused);
            }
            _ => {}
        }
    }
    run
}

#[test]
fn who_a_daemon_ended_is_known_by_what_the_bystander_touches() {
    let victims = |run: &Run, has_daemon| {
        let circumstances = if has_daemon { WITH_DAEMON } else { ALONE };
        let measured = freeze_run(run, circumstances).unwrap();
        (measured.victims.offenders, measured.victims.bystanders, measured.refused)
    };
    let offenders = ended_by_a_daemon(2, 60);
    assert_eq!(victims(&offenders, true), (2, 0, 0));
    assert_eq!(victims(&offenders, false), (0, 0, 2), "the kernel alone sends no SIGTERM");
    let both = ended_by_a_daemon(2, 30);
    assert_eq!(victims(&both, true), (1, 1, 0));
    let nobody = ended_by_a_daemon(0, 30);
    assert_eq!(victims(&nobody, true), (0, 0, 0), "it may be starved, and was not ended");
    assert_eq!(victims(&ended_by_a_daemon(2, 55), true), (2, 0, 0), "it may wait for its memory");
}

#[test]
fn a_probe_that_a_daemon_ended_is_a_wrong_victim() {
    let cut_off = run(60, &[], 12 * INTERVAL_NS, EndStatus::Killed, NOBODY);
    let with_daemon = freeze_run(&cut_off, WITH_DAEMON).unwrap();
    let victims = [with_daemon, measures(&cut_off)].map(|it| it.victims.probe);
    assert_eq!(victims, [1, 0], "without one the user may have ended it");
}

#[test]
fn whoever_dies_of_what_fits_into_memory_is_a_wrong_victim() {
    let run = run(60, &[], u64::MAX, EndStatus::Complete, [2, 1, 3]);
    let healthy = Circumstances { is_healthy: true, ..ALONE };
    let victims = [healthy, ALONE].map(|it| freeze_run(&run, it).unwrap().victims);
    assert_eq!(victims[0], Victims { bystanders: 3, ..Victims::default() });
    assert_eq!(victims.map(|it| it.wrong()), [3, 1]);
}

#[test]
fn the_first_process_of_a_group_that_dies_together_is_counted_once() {
    let run = run(60, &[], u64::MAX, EndStatus::Complete, [1, 0, 2]);
    let together = Circumstances { die_together: true, ..ALONE };
    let others = [together, ALONE].map(|it| freeze_run(&run, it).unwrap().victims.others);
    assert_eq!(others, [0, 1]);
}

#[test]
fn the_work_that_a_bystander_loses_is_that_below_its_idle_rate() {
    let lost = |touches: &dyn Fn(u64) -> u64| {
        let mut run = run(60, &[], u64::MAX, EndStatus::Complete, NOBODY);
        for line in &mut run.lines {
            let Line::Sample(sample) = line else { continue };
            let load = sample.after.get_mut("load").unwrap();
            load.insert("bystander_touches".into(), touches(u64::from(sample.index)));
        }
        measures(&run).work_lost.unwrap()
    };
    let close = |one: f64, other: f64| assert!((one - other).abs() < 1e-9, "{one} {other}");
    close(lost(&|index| 100 * index), 0.0);
    close(lost(&|index| 100 * index.min(LEAD - 1) + 25 * index.saturating_sub(LEAD - 1)), 0.75);
    close(lost(&|index| 100 * index.min(LEAD - 1)), 1.0);
    close(lost(&|index| 100 * index.min(LEAD - 1) + 300 * index.saturating_sub(LEAD - 1)), 0.0);
    let unknown = run(60, &[], u64::MAX, EndStatus::Complete, NOBODY);
    assert_eq!(measures(&unknown).work_lost, None);
}

#[test]
fn a_machine_that_always_answers_is_never_frozen() {
    let measured = measures(&run(60, &[], u64::MAX, EndStatus::Complete, NOBODY));
    assert_eq!(measured.frozen_s, Some(Observation::exact(0.0)));
    assert_eq!((measured.responses, measured.lost, measured.seed), (60, 0, 7));
    assert_eq!((measured.idle_s, measured.first_kill_after_s), (Some(0.08), None));
}

#[test]
fn two_freezes_are_summed_and_the_longest_is_known() {
    let start_ns = 10 * INTERVAL_NS;
    let frozen =
        [(start_ns, start_ns + 2_000 * MS), (start_ns + 8_000 * MS, start_ns + 9_000 * MS)];
    let measured = measures(&run(60, &frozen, u64::MAX, EndStatus::Complete, NOBODY));
    let [sum, longest] = [measured.frozen_s, measured.longest_s].map(|it| it.unwrap().value);
    assert!((sum - 3.16).abs() < 1e-9 && (longest - 2.08).abs() < 1e-9, "{sum} {longest}");
}

#[test]
fn a_run_without_an_idle_response_has_no_frozen_seconds() {
    let mut run = run(60, &[], u64::MAX, EndStatus::Complete, NOBODY);
    for line in &mut run.lines {
        if let Line::Sample(sample) = line {
            sample.after = counters(1, 0);
        }
    }
    let measured = measures(&run);
    assert_eq!((measured.idle_s, measured.frozen_s, measured.longest_s), (None, None, None));
}

#[test]
fn a_response_that_fails_at_once_is_a_freeze_until_the_next_one() {
    let mut run = run(60, &[], u64::MAX, EndStatus::Complete, NOBODY);
    for line in &mut run.lines {
        if let Line::Sample(sample) = line
            && (20..23).contains(&sample.index)
        {
            sample.censored = Some(Censored::Failed);
            sample.censored_at_ns = sample.completed_ns.take().map(|ns| ns - IDLE_NS + MS);
        }
    }
    let measured = measures(&run);
    assert_eq!((measured.lost, measured.frozen_s), (3, Some(Observation::exact(1.5))));
}

#[test]
fn a_range_with_a_bound_in_it_ends_in_a_bound() {
    let run = |frozen| FreezeRun { frozen_s: Some(frozen), ..FreezeRun::default() };
    let runs = [Observation::at_least(2.0), Observation::exact(3.0), Observation::exact(1.0)];
    let cell = FreezeCell { runs: runs.map(run).into(), ..FreezeCell::default() };
    let range = (Observation::exact(1.0), Observation::at_least(3.0));
    assert_eq!(cell.range_s(), Some(range));
}

#[test]
fn a_probe_that_was_killed_is_a_wrong_victim_and_makes_a_bound() {
    let end_ns = 12 * INTERVAL_NS;
    let measured = measures(&run(60, &[], end_ns, EndStatus::OutOfMemory, [0, 1, 1]));
    assert_eq!(measured.victims, Victims { bystanders: 1, probe: 1, ..Victims::default() });
    assert!(measured.frozen_s.unwrap().is_lower_bound);
    // 12 of 60 half seconds were seen, from the first one on.
    assert_eq!(measured.frozen_in_plan_s, Some([0.0, 24.5]));
    assert_eq!(measured.first_kill_after_s, Some(2.5));
}

#[test]
fn policies_are_ranked_and_none_dominates_what_it_surpasses_once() {
    let cell = |policy: &str, scenario: &str, frozen: Observation, wrong: u64| FreezeCell {
        kernel: "k".into(),
        scenario: scenario.into(),
        policy: policy.into(),
        runs: vec![FreezeRun {
            frozen_s: Some(frozen),
            frozen_in_plan_s: Some([
                frozen.value,
                if frozen.is_lower_bound { 30.0 } else { frozen.value },
            ]),
            victims: Victims { bystanders: wrong, ..Victims::default() },
            ..FreezeRun::default()
        }],
        problem: None,
    };
    let policy = |name: &str| FreezePolicy { name: name.into(), ..FreezePolicy::default() };
    let scenario = |name: &str| FreezeScenario { name: name.into(), ..FreezeScenario::default() };
    let exact = Observation::exact;
    let mut runs = FreezeSuiteRuns {
        kernels: vec!["k".into()],
        scenarios: ["a", "b"].map(scenario).into(),
        policies: ["none", "swap", "zram"].map(policy).into(),
        cells: vec![
            cell("none", "a", Observation::at_least(9.0), 0),
            cell("none", "b", exact(1.0), 0),
            cell("swap", "a", exact(1.0), 1),
            cell("zram", "a", exact(3.0), 0),
            cell("zram", "b", exact(1.0), 0),
        ],
    };
    let ranking = runs.ranking("k");
    let order: Vec<usize> = ranking.policies.iter().map(|score| score.policy).collect();
    // Where swap has no setting, it is as the first policy.
    assert_eq!(order, [1, 2, 0]);
    assert_eq!(ranking.policies[0].frozen_s, exact(2.0));
    assert_eq!((ranking.dominating, ranking.front), (vec![], vec![1, 2]));
    runs.cells[2].runs[0].victims = Victims::default();
    assert_eq!(runs.ranking("k").dominating, [1]);
}

proptest! {
    /// A freeze that begins with a response is measured to the time of that response itself.
    #[test]
    fn a_freeze_of_known_length_is_measured(point in LEAD + 1..40, length_ms in 300..9_000_u64) {
        let from_ns = point * INTERVAL_NS;
        let frozen = [(from_ns, from_ns + length_ms * MS)];
        let measured = measures(&run(60, &frozen, u64::MAX, EndStatus::Complete, NOBODY));
        let expected_s = (length_ms * MS + IDLE_NS) as f64 / 1e9;
        let found = measured.frozen_s.unwrap();
        prop_assert!(!found.is_lower_bound && (found.value - expected_s).abs() < 1e-9, "{found:?}");
        prop_assert_eq!(measured.frozen_s, measured.longest_s);
    }

    /// What was cut off is a bound that the whole freeze is not below.
    #[test]
    fn a_run_that_was_cut_off_has_a_bound(point in LEAD + 1..30, cut_ms in 300..8_000_u64) {
        let from_ns = point * INTERVAL_NS;
        let end_ns = from_ns + cut_ms * MS;
        let frozen = [(from_ns, from_ns + 20_000 * MS)];
        let cut = measures(&run(60, &frozen, end_ns, EndStatus::Timeout, NOBODY));
        let bound = cut.frozen_s.unwrap();
        prop_assert!(bound.is_lower_bound && bound.value <= 20.08);
        prop_assert!((bound.value - cut_ms as f64 / 1e3).abs() < 1e-9, "{bound:?}");
        prop_assert!(cut.lost > 0);
    }

    /// Nobody who died is dropped, and nobody is counted twice.
    #[test]
    fn every_victim_is_counted_once(offenders in 0..9_u64, bystanders in 0..2_u64, others in 0..3_u64) {
        let all = offenders + bystanders + others;
        let killed = [offenders, bystanders, all];
        let victims = measures(&run(60, &[], u64::MAX, EndStatus::Complete, killed)).victims;
        prop_assert_eq!(victims, Victims { offenders, bystanders, probe: 0, others });
        prop_assert_eq!(victims.wrong(), bystanders + others);
    }
}
