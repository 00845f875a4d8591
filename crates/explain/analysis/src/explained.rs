//! The delay of a response as a sum of parts.
//!
//! `docs/explained.md` shows what the kernel counts and which counter contains which. In short:
//!
//! 1. A **missed start** is the time during which the previous sample was still running.
//! 2. The rest is divided into disjoint **states**, in the order of `STATES`.
//! 3. Each **cause** of `CAUSES` takes its time from the states, as it is elapsed time between two
//!    places of the kernel. The remainder comes after the states that the cause may have consisted
//!    of, so that it is never too small; user is last, as the kernel splits running time by the tick.
//! 4. The rest of a state is the part of that name, and that of all [`Part::Remainder`].

mod difference;
mod repetition;

use std::collections::BTreeMap;

use model::{Run, SampleRecord};
use serde::{Deserialize, Serialize};

use crate::increase;

pub(crate) use difference::difference;
pub use difference::{ExplainedDifference, PartDifference};
pub(crate) use repetition::explain_work;

/// A tick of `/proc/PID/stat` in ns (`USER_HZ` is 100 everywhere).
const TICK_NS: u64 = 10_000_000;

/// Source, name and unit in ns of the counters of each part; the first that exists counts.
const COUNTERS: [(Part, &str, &str, u64); 15] = [
    (Part::User, "rusage", "user_ns", 1),
    // A censored sample has no report of its own.
    (Part::User, "task_stat", "utime_ticks", TICK_NS),
    (Part::System, "rusage", "system_ns", 1),
    (Part::System, "task_stat", "stime_ticks", TICK_NS),
    (Part::Irq, "taskstats", "irq_delay_total_ns", 1),
    (Part::CpuWait, "schedstat", "wait_ns", 1),
    (Part::CpuWait, "taskstats", "cpu_delay_total_ns", 1),
    (Part::Throttled, "cpu_cgroup", "throttled_usec", 1000),
    (Part::Throttled, "cpu_cgroup", "throttled_time_ns", 1),
    (Part::BlockIo, "taskstats", "blkio_delay_total_ns", 1),
    (Part::SwapIn, "taskstats", "swapin_delay_total_ns", 1),
    (Part::Thrashing, "taskstats", "thrashing_delay_total_ns", 1),
    (Part::Reclaim, "taskstats", "freepages_delay_total_ns", 1),
    (Part::Compaction, "taskstats", "compact_delay_total_ns", 1),
    (Part::CopyOnWrite, "taskstats", "wpcopy_delay_total_ns", 1),
];

/// States of a task, in the order in which they claim time.
const STATES: [Part; 5] = [Part::User, Part::System, Part::Irq, Part::CpuWait, Part::BlockIo];
/// The states from which a cause that mostly waits takes time.
const WAITING: &[Part] = &[Part::BlockIo, Part::CpuWait, Part::System, Part::Remainder, Part::User];
/// The states from which a cause that mostly runs takes time.
const WORKING: &[Part] = &[Part::System, Part::CpuWait, Part::BlockIo, Part::Remainder, Part::User];
/// The causes in the order in which they take time, with the causes they contain, and their states.
const CAUSES: [(Part, &[Part], &[Part]); 6] = [
    // The group's, a sum over CPUs: with several CPUs an upper bound.
    (Part::Throttled, &[], &[Part::CpuWait]),
    (Part::Thrashing, &[], WAITING),
    (Part::SwapIn, &[Part::Thrashing], WAITING),
    (Part::Reclaim, &[], WORKING),
    (Part::Compaction, &[], WORKING),
    (Part::CopyOnWrite, &[Part::Reclaim, Part::Compaction], WORKING),
];

model::named! {
    /// Where time went, in printed order.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Part {
        /// The previous sample was still running.
        MissedStart = "missed-start",
        /// Running its own code.
        User = "user",
        /// Running in the kernel, for none of the causes below.
        System = "system",
        /// Runnable, while others had the CPUs.
        CpuWait = "cpu-wait",
        /// Runnable, but the group had used up its quota.
        Throttled = "throttled",
        /// Waiting for a disk, for none of the causes below.
        BlockIo = "block-io",
        /// Reading from swap (for the meaning by kernel version see the document).
        SwapIn = "swap-in",
        /// Waiting for recently evicted pages.
        Thrashing = "thrashing",
        /// Reclaiming memory before an allocation.
        Reclaim = "reclaim",
        /// Moving pages to get contiguous free ones.
        Compaction = "compaction",
        /// Copying pages on the first write after a fork.
        CopyOnWrite = "copy-on-write",
        /// Interrupted.
        Irq = "irq",
        /// None of these: other sleeps, stolen time, and time without a counter.
        Remainder = "remainder",
    }
}

impl Part {
    /// Its name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::MissedStart => "missed start",
            Self::CpuWait => "CPU wait",
            Self::BlockIo => "block I/O",
            Self::Irq => "IRQ",
            Self::Remainder => "unexplained",
            same => same.name(),
        }
    }
}

/// The delay of one sample, part by part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// The delay from the intended start, in ns.
    pub delay_ns: u64,
    /// Each part in ns, in sum the delay; `None` = no source, so other parts contain its time.
    pub parts_ns: BTreeMap<Part, Option<u64>>,
}

/// Whether a kernel counter explains one of the parts.
pub fn is_counted(parts_ns: &BTreeMap<Part, Option<u64>>) -> bool {
    let mut known = parts_ns.iter().filter(|(_, time_ns)| time_ns.is_some());
    known.any(|(part, _)| !matches!(part, Part::MissedStart | Part::Remainder))
}

/// Divides the delay of a sample; `former` is the previous sample.
pub fn explain(sample: &SampleRecord, former: Option<&SampleRecord>) -> Explained {
    let delay_ns = sample.delay_ns();
    let missed_ns = former.map_or(0, |former| missed_start_ns(sample, former));
    let mut rest_ns = delay_ns - missed_ns;
    let mut parts_ns: BTreeMap<Part, Option<u64>> =
        Part::ALL.iter().map(|part| (*part, None)).collect();
    // Before Linux 5.17, which counts compaction, reading from swap was a state, not a cause.
    let compaction = sample.after.get("taskstats").and_then(|it| it.get("compact_delay_total_ns"));
    let apart = compaction.is_none().then_some(Part::SwapIn);
    for state in STATES.into_iter().chain(apart) {
        let claimed_ns = counted_ns(sample, state).map(|counted_ns| counted_ns.min(rest_ns));
        rest_ns -= claimed_ns.unwrap_or(0);
        parts_ns.insert(state, claimed_ns);
    }
    parts_ns.extend([(Part::MissedStart, Some(missed_ns)), (Part::Remainder, Some(rest_ns))]);
    for (cause, inner, from) in CAUSES.into_iter().filter(|(cause, ..)| Some(*cause) != apart) {
        let Some(whole_ns) = counted_ns(sample, cause) else { continue };
        let inner = inner.iter().filter_map(|part| counted_ns(sample, *part));
        let own_ns = whole_ns.saturating_sub(inner.fold(0, u64::saturating_add));
        let mut left_ns = own_ns;
        let mut is_known = false;
        for state in from {
            let Some(Some(state_ns)) = parts_ns.get_mut(state) else { continue };
            let taken_ns = left_ns.min(*state_ns);
            *state_ns -= taken_ns;
            left_ns -= taken_ns;
            is_known = true;
        }
        parts_ns.insert(cause, is_known.then_some(own_ns - left_ns));
    }
    Explained { delay_ns, parts_ns }
}

/// The increase of a part's counter during a sample, in ns; `None` if the source is missing.
fn counted_ns(sample: &SampleRecord, part: Part) -> Option<u64> {
    let mut counters = COUNTERS.iter().filter(|(of, ..)| *of == part);
    counters.find_map(|(_, source, name, unit_ns)| {
        let increase = increase(&sample.before, &sample.after, source, name)?;
        // A kernel that does not count interrupts reports 0.
        let irqs = || sample.after.get(*source)?.get("irq_count").copied();
        let is_counted = part != Part::Irq || irqs() > Some(0);
        is_counted.then(|| increase.saturating_mul(*unit_ns))
    })
}

/// The samples of a run and their parts, in order; histograms have none.
pub fn explain_run(run: &Run) -> Vec<(&SampleRecord, Explained)> {
    let former = std::iter::once(None).chain(run.samples().map(Some));
    let samples = run.samples().zip(former);
    samples.map(|(sample, former)| (sample, explain(sample, former))).collect()
}

/// How long a sample waited in ns, from its intended start until the former's counters were read.
fn missed_start_ns(sample: &SampleRecord, former: &SampleRecord) -> u64 {
    let former_end_ns = former.intended_ns + former.delay_ns();
    if former_end_ns <= sample.intended_ns {
        return 0;
    }
    let own_end_ns = sample.intended_ns + sample.delay_ns();
    let started_ns = sample.started_ns.unwrap_or(own_end_ns).min(own_end_ns);
    former.at_ns.max(former_end_ns).min(started_ns).saturating_sub(sample.intended_ns)
}

/// The parts of several samples together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Number of samples.
    pub samples: usize,
    /// Sum of their delays, in ns.
    pub delay_ns: u64,
    /// Each part in ns; `None` = unknown in all samples.
    pub parts_ns: BTreeMap<Part, Option<u64>>,
}

impl Account {
    /// Adds samples up.
    pub fn from_samples<'a>(samples: impl IntoIterator<Item = &'a Explained>) -> Self {
        let mut account = Self::default();
        for sample in samples {
            account.samples += 1;
            account.delay_ns = account.delay_ns.saturating_add(sample.delay_ns);
            for (part, time_ns) in &sample.parts_ns {
                let sum = account.parts_ns.entry(*part).or_default();
                *sum = sum.map_or(*time_ns, |sum| Some(sum.saturating_add(time_ns.unwrap_or(0))));
            }
        }
        account
    }

    /// A part as a share of the delay, from 0 to 1.
    pub fn share(&self, part: Part) -> Option<f64> {
        let time_ns = self.parts_ns.get(&part).copied().flatten()?;
        (self.delay_ns > 0).then(|| time_ns as f64 / self.delay_ns as f64)
    }

    /// The share of the delay that is not in the remainder.
    pub fn explained_share(&self) -> Option<f64> {
        self.share(Part::Remainder).map(|share| 1.0 - share)
    }

    /// The parts that are unknown.
    pub fn unknown(&self) -> impl Iterator<Item = Part> + '_ {
        self.parts_ns.iter().filter(|(_, time_ns)| time_ns.is_none()).map(|(part, _)| *part)
    }
}
