//! The measures of one run.

use std::collections::BTreeMap;

use model::{Censored, CounterSet, EndStatus, Line, Observation, Run, SampleRecord};
use serde::{Deserialize, Deserializer, Serialize};
use stats::median;

/// A response is slow if it takes more than this many times the idle median.
const SLOW: f64 = 3.0;
const NS_PER_S: f64 = 1e9;
/// A bystander that touched nothing for so long has ended: one that lives, on a machine that stood still
/// for half a minute, did so for at most 4.6 s (`docs/freeze/daemons.json`).
const STOPPED_NS: u64 = 6_000_000_000;
/// The source of the load's own counters.
const LOAD: &str = "load";

/// How one run froze, and who died in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FreezeRun {
    /// Its seed.
    pub seed: u64,
    /// How the run ended, as in its file.
    pub status: String,
    /// The median response before the load began, in seconds; absent if none was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<f64>,
    /// The sum of all freezes, in seconds; absent without an idle response.
    #[serde(
        default,
        deserialize_with = "read_observation",
        skip_serializing_if = "Option::is_none"
    )]
    pub frozen_s: Option<Observation>,
    /// The least and the most frozen seconds within the time for which the run was planned: they differ if
    /// it was cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen_in_plan_s: Option<[f64; 2]>,
    /// The longest freeze, in seconds.
    #[serde(
        default,
        deserialize_with = "read_observation",
        skip_serializing_if = "Option::is_none"
    )]
    pub longest_s: Option<Observation>,
    /// Responses that were due.
    pub responses: usize,
    /// Responses that never completed: they failed, or the run ended first.
    pub lost: usize,
    /// Who was killed.
    pub victims: Victims,
    /// Time from the first offender to the first kill, in seconds; absent if nothing was killed by SIGKILL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_kill_after_s: Option<f64>,
    /// Offenders that ended by themselves, their work done.
    pub finished: u64,
    /// Offenders that could not start, or to which the kernel refused memory.
    pub refused: u64,
    /// The share of the bystander's work that it did not do after the first offender had started, at the
    /// rate that it had before; absent if either is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_lost: Option<f64>,
    /// Why the machine under test died, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub death: Option<String>,
}

/// Processes that the kernel killed for lack of memory, or a daemon ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Victims {
    /// Processes that filled memory.
    pub offenders: u64,
    /// Processes that held memory and did nothing wrong.
    pub bystanders: u64,
    /// The probe.
    pub probe: u64,
    /// Processes that are none of these.
    pub others: u64,
}

/// An observation as JSON has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Exact(f64),
    AtLeast { at_least: f64 },
}

fn read_observation<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Observation>, D::Error> {
    let written = Option::<Written>::deserialize(from)?;
    Ok(written.map(|it| match it {
        Written::Exact(value) => Observation::exact(value),
        Written::AtLeast { at_least } => Observation::at_least(at_least),
    }))
}

impl Victims {
    /// How many had not filled memory.
    pub fn wrong(&self) -> u64 {
        self.bystanders + self.probe + self.others
    }
}

/// A time in which the machine did not answer, in ns of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Freeze {
    from_ns: u64,
    to_ns: u64,
}

/// What a run is, apart from its file.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// Whether a daemon that ends processes runs next to it.
    pub has_daemon: bool,
    /// Whether the kernel kills all of a control group if it kills one (`memory.oom.group`).
    pub die_together: bool,
    /// Whether its load fits into memory, so that nothing has to die: its offenders are bystanders, too.
    pub is_healthy: bool,
}

/// The measures of a run whose load is an exhaustion. `None` without a header.
pub fn freeze_run(run: &Run, circumstances: Circumstances) -> Option<FreezeRun> {
    let seed = run.header.as_ref()?.spec.seed;
    let samples: Vec<&SampleRecord> = run.samples().collect();
    let idle_ns = idle_ns(&samples);
    let status = run.status();
    let totals = Totals::read(run);
    let mut victims = totals.victims(status, circumstances);
    let mut refused = totals.load("offenders_refused");
    if circumstances.has_daemon {
        // A daemon ends processes by SIGTERM, which the load counts with those that failed.
        let bystander = u64::from(refused > 0 && victims.bystanders == 0 && has_stopped(&samples));
        victims.bystanders += bystander;
        victims.offenders += refused - bystander;
        refused = 0;
        // The agent ends a run so if its probe ended otherwise than by the OOM killer.
        victims.probe += u64::from(run.end().is_some_and(|end| end.status == EndStatus::Killed));
    }
    if circumstances.is_healthy {
        victims.bystanders += std::mem::take(&mut victims.offenders);
    }
    let mut result = FreezeRun {
        seed,
        status: status.name().to_owned(),
        idle_s: idle_ns.map(|ns| ns / NS_PER_S),
        responses: samples.len(),
        lost: samples.iter().filter(|sample| sample.completed_ns.is_none()).count(),
        victims,
        first_kill_after_s: totals.first_kill_after_s(),
        finished: totals.load("offenders_finished"),
        refused,
        work_lost: work_lost(&samples),
        death: death(run, status),
        ..FreezeRun::default()
    };
    let Some(idle_ns) = idle_ns else { return Some(result) };
    let slow_ns = SLOW * idle_ns;
    let all = freezes(&samples, slow_ns);
    // What did not end within the run may be longer, and so may what a cut off run did not see.
    let is_open = match (all.last(), samples.last()) {
        (Some(freeze), Some(last)) => freeze.to_ns == ended_ns(last),
        _ => false,
    };
    let is_lower_bound = is_open || status != EndStatus::Complete;
    let seconds = |ns: u64| Observation { value: ns as f64 / NS_PER_S, is_lower_bound };
    let lengths = || all.iter().map(|freeze| freeze.to_ns - freeze.from_ns);
    result.frozen_s = Some(seconds(lengths().sum()));
    result.frozen_in_plan_s = frozen_in_plan_s(run, &samples, &all);
    result.longest_s = Some(seconds(lengths().max().unwrap_or(0)));
    Some(result)
}

/// The median of the responses before the first offender started.
fn idle_ns(samples: &[&SampleRecord]) -> Option<f64> {
    let is_idle = |sample: &&&SampleRecord| {
        sample.completed_ns.is_some()
            && counter(&sample.after, LOAD, "offenders_started") == Some(0)
    };
    let delays: Vec<f64> =
        samples.iter().filter(is_idle).map(|sample| sample.delay_ns() as f64).collect();
    median(&delays).filter(|ns| *ns > 0.0)
}

/// The share of the bystander's touches that are missing after the first offender started. Its rate is that
/// of the idle responses.
fn work_lost(samples: &[&SampleRecord]) -> Option<f64> {
    let read = |sample: &&SampleRecord| {
        let counted = |name| counter(&sample.after, LOAD, name);
        Some((ended_ns(sample), counted("bystander_touches")?, counted("offenders_started")?))
    };
    let readings: Vec<(u64, u64, u64)> = samples.iter().filter_map(read).collect();
    let idle = readings.iter().take_while(|(_, _, started)| *started == 0).count();
    let ((from_ns, from, _), (last_ns, last, _)) = (*readings.first()?, *readings.last()?);
    let (idle_ns, idle_to, _) = *readings.get(idle.checked_sub(1)?)?;
    let elapsed = |from_ns: u64, to_ns: u64| {
        Some(to_ns.saturating_sub(from_ns) as f64).filter(|ns| *ns > 0.0)
    };
    let rate = idle_to.saturating_sub(from) as f64 / elapsed(from_ns, idle_ns)?;
    let due = rate * elapsed(idle_ns, last_ns)?;
    (due > 0.0).then(|| (1.0 - last.saturating_sub(idle_to) as f64 / due).clamp(0.0, 1.0))
}

/// Whether the bystander touched nothing more at the end: it touches memory 20 times a second as long as it
/// lives.
fn has_stopped(samples: &[&SampleRecord]) -> bool {
    let touches = |sample: &SampleRecord| counter(&sample.after, LOAD, "bystander_touches");
    // Responses that the end of the run cut off have no counters.
    let known = samples.iter().rev().find_map(|sample| Some((sample, touches(sample)?)));
    let Some((last, count)) = known else { return false };
    let first = samples.iter().find(|sample| touches(sample) == Some(count));
    first.is_some_and(|first| ended_ns(last).saturating_sub(ended_ns(first)) >= STOPPED_NS)
}

/// When a response completed, or at least was still under way.
fn ended_ns(sample: &SampleRecord) -> u64 {
    sample.intended_ns.saturating_add(sample.delay_ns())
}

/// The freezes within the planned time, which begins with the first response: what was seen of it, and
/// with all that was not seen as well.
fn frozen_in_plan_s(run: &Run, samples: &[&SampleRecord], all: &[Freeze]) -> Option<[f64; 2]> {
    let timing = &run.header.as_ref()?.spec.timing;
    let planned_ns = timing.interval_ns.saturating_mul(u64::from(timing.points));
    let end_ns = samples.first()?.intended_ns.saturating_add(planned_ns);
    let of = |freeze: &Freeze| freeze.to_ns.min(end_ns).saturating_sub(freeze.from_ns);
    let least_ns: u64 = all.iter().map(of).sum();
    let unseen_ns = end_ns.saturating_sub(ended_ns(samples.last()?));
    Some([least_ns, least_ns + unseen_ns].map(|ns| ns as f64 / NS_PER_S))
}

/// The freezes in the order of time, without overlaps. A start that was missed because the response
/// before it was under way could begin only when that one had ended; a response that failed did not
/// answer, so its freeze lasts until the next one could begin.
fn freezes(samples: &[&SampleRecord], slow_ns: f64) -> Vec<Freeze> {
    let mut merged: Vec<Freeze> = Vec::new();
    let mut free_from_ns = 0;
    for (index, sample) in samples.iter().enumerate() {
        let from_ns = sample.intended_ns.max(free_from_ns);
        let ended_ns = ended_ns(sample);
        let has_failed = sample.censored == Some(Censored::Failed);
        let next_ns = samples.get(index + 1).filter(|_| has_failed).map_or(0, |it| it.intended_ns);
        let to_ns = ended_ns.max(next_ns);
        free_from_ns = free_from_ns.max(ended_ns);
        let is_slow = (to_ns.saturating_sub(from_ns) as f64) > slow_ns;
        if !is_slow && !has_failed {
            continue;
        }
        match merged.last_mut() {
            Some(last) if from_ns <= last.to_ns => last.to_ns = last.to_ns.max(to_ns),
            _ => merged.push(Freeze { from_ns, to_ns }),
        }
    }
    merged
}

/// The cause of the death of the machine; a probe that was killed is a victim, not a death.
fn death(run: &Run, status: EndStatus) -> Option<String> {
    let is_machine = status == EndStatus::KernelDied;
    let causes = run.lines.iter().filter(|line| matches!(line, Line::Death(_)));
    causes.filter_map(Line::note).next_back().filter(|_| is_machine).map(str::to_owned)
}

fn counter(set: &CounterSet, source: &str, name: &str) -> Option<u64> {
    set.get(source)?.get(name).copied()
}

/// The counters of a run at its end.
#[derive(Default)]
struct Totals {
    load: BTreeMap<String, u64>,
    /// Processes that the kernel killed for lack of memory, in all.
    killed: Option<u64>,
}

impl Totals {
    fn read(run: &Run) -> Self {
        let readings = || run.lines.iter().flat_map(Line::readings).map(|(_, set)| set);
        let killed = || readings().filter_map(|set| counter(set, "vmstat", "oom_kill"));
        let of_samples = readings().filter_map(|set| set.get(LOAD)).last();
        let of_end = run.lines.iter().rev().find_map(|line| match line {
            Line::Delivered(delivered) => Some(&delivered.totals),
            _ => None,
        });
        let load = of_end.or(of_samples).into_iter().flatten();
        Self {
            load: load.map(|(name, count)| (name.to_string(), *count)).collect(),
            killed: killed()
                .next()
                .zip(killed().last())
                .map(|(first, last)| last - first.min(last)),
        }
    }

    fn load(&self, name: &str) -> u64 {
        self.load.get(name).copied().unwrap_or(0)
    }

    fn victims(&self, status: EndStatus, circumstances: Circumstances) -> Victims {
        let [offenders, bystanders] =
            ["offenders_killed", "bystanders_killed"].map(|name| self.load(name));
        let probe = u64::from(status == EndStatus::OutOfMemory);
        // The last reading may be older than the death of the probe.
        let mut known = offenders + bystanders + probe;
        if circumstances.die_together {
            // The first process of a group counts twice (`oom_kill_process` in mm/oom_kill.c), and at most
            // each was one: so others are at least these.
            known += offenders;
        }
        let others = self.killed.map_or(0, |all| all.saturating_sub(known));
        Victims { offenders, bystanders, probe, others }
    }

    fn first_kill_after_s(&self) -> Option<f64> {
        let after_ns = self.load("first_kill_after_ns");
        (after_ns > 0).then_some(after_ns as f64 / NS_PER_S)
    }
}
