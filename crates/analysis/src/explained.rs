//! Why a response took as long as it did: its delay as a sum of parts.
//!
//! `docs/explained.md` says what the kernel counts and which counter contains which. In short:
//!
//! 1. A **missed start** is the time in which the sample before was still under way.
//! 2. What is left is divided into disjoint **states**, each at most what is left, in the order of
//!    `STATES`; what no state claims is the rest.
//! 3. Each **cause** of `CAUSES` takes its time out of the states, because it is time on the wall
//!    between two places of the kernel, whatever the task did in between. The rest comes after the
//!    states that the cause may have consisted of, so that the remainder is never told smaller than
//!    it is; user comes last, and at all, because the kernel splits running time by the tick.
//! 4. What is left of a state is the part of that name, and of the rest [`Part::Remainder`].
//!
//! So the parts always sum to the whole, and nothing is counted twice.

mod difference;

use std::collections::BTreeMap;

use model::{Run, SampleRecord};
use serde::Serialize;

pub(crate) use difference::difference;
pub use difference::{ExplainedDifference, PartDifference};

/// Ticks of `/proc/PID/stat` are of this length in ns (`USER_HZ` is 100 on all platforms of today).
const TICK_NS: u64 = 10_000_000;

/// Source, name and unit in ns of the counters of each part; the first that is there counts.
const COUNTERS: [(Part, &str, &str, u64); 15] = [
    (Part::User, "rusage", "user_ns", 1),
    // A sample that was given up has no report of its own.
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

/// What a task does, in the order in which it claims time.
const STATES: [Part; 5] = [Part::User, Part::System, Part::Irq, Part::CpuWait, Part::BlockIo];
/// What a cause takes from that mostly waits.
const WAITING: &[Part] = &[Part::BlockIo, Part::CpuWait, Part::System, Part::Remainder, Part::User];
/// What a cause takes from that mostly runs.
const WORKING: &[Part] = &[Part::System, Part::CpuWait, Part::BlockIo, Part::Remainder, Part::User];
/// The causes in the order in which they take time, what each contains, and what it takes from.
const CAUSES: [(Part, &[Part], &[Part]); 6] = [
    // It is that of the group, its CPUs together: with several of them an upper bound.
    (Part::Throttled, &[], &[Part::CpuWait]),
    (Part::Thrashing, &[], WAITING),
    (Part::SwapIn, &[Part::Thrashing], WAITING),
    (Part::Reclaim, &[], WORKING),
    (Part::Compaction, &[], WORKING),
    (Part::CopyOnWrite, &[Part::Reclaim, Part::Compaction], WORKING),
];

model::named! {
    /// Where time went, in the order in which it is told.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Part {
        /// The sample before was still under way.
        MissedStart = "missed-start",
        /// Running its own code.
        User = "user",
        /// Running in the kernel, for none of the causes below.
        System = "system",
        /// Runnable, while others had the CPUs.
        CpuWait = "cpu-wait",
        /// Runnable, but the group had used up its quota.
        Throttled = "throttled",
        /// Sleeping until a disk was done, for none of the causes below.
        BlockIo = "block-io",
        /// Reading from swap (what that means on which kernel: see the document).
        SwapIn = "swap-in",
        /// Waiting for pages that were evicted a short while before.
        Thrashing = "thrashing",
        /// Freeing memory itself before it got any.
        Reclaim = "reclaim",
        /// Moving pages to get a run of free ones.
        Compaction = "compaction",
        /// Copying pages on the first write after a fork.
        CopyOnWrite = "copy-on-write",
        /// Interrupted.
        Irq = "irq",
        /// None of all these: other sleeps, stolen time, and whatever has no counter here.
        Remainder = "remainder",
    }
}

impl Part {
    /// What it is called in a table.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The delay from the intended start, in ns.
    pub delay_ns: u64,
    /// Each part in ns; `None` = its source is missing, and its time is in another part or in the
    /// remainder. Those that are known sum to the delay exactly.
    pub parts_ns: BTreeMap<Part, Option<u64>>,
}

impl Explained {
    /// Whether any counter of the kernel says where the time went, and not only times of samples.
    pub fn is_counted(&self) -> bool {
        let mut known = self.parts_ns.iter().filter(|(_, time_ns)| time_ns.is_some());
        known.any(|(part, _)| !matches!(part, Part::MissedStart | Part::Remainder))
    }
}

/// When a sample was over: all of it that bears on the one after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over {
    /// Its end, in ns from the start of the run.
    end_ns: u64,
    /// When the counters after it had been read.
    counted_ns: u64,
}

impl From<&SampleRecord> for Over {
    fn from(sample: &SampleRecord) -> Self {
        let end_ns = sample.completed_ns.or(sample.censored_at_ns).unwrap_or(sample.at_ns);
        Self { end_ns, counted_ns: sample.at_ns.max(end_ns) }
    }
}

/// Divides the delay of a sample; `before_it` is when the one that was made before it was over.
pub fn explain(sample: &SampleRecord, before_it: Option<Over>) -> Explained {
    let delay_ns = sample.delay_ns();
    let missed_ns = before_it.map_or(0, |before_it| missed_start_ns(sample, before_it));
    let mut rest_ns = delay_ns - missed_ns;
    let mut parts_ns: BTreeMap<Part, Option<u64>> =
        Part::ALL.iter().map(|part| (*part, None)).collect();
    // Both came with Linux 5.17; before it reading from swap was a state of its own, and no cause.
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

/// What was counted from before a sample to after it, in ns; `None` if the source is missing.
fn counted_ns(sample: &SampleRecord, part: Part) -> Option<u64> {
    let counted = COUNTERS.iter().filter(|(of, ..)| *of == part);
    let mut differences = counted.filter_map(|(_, source, name, unit_ns)| {
        let after = sample.after.get(*source)?;
        let before = sample.before.get(*source)?.get(*name)?;
        // A kernel that does not count interrupts says 0 of a task however long it has run.
        let is_counted = part != Part::Irq || after.get("irq_count").is_some_and(|it| *it > 0);
        let difference = after.get(*name)?.checked_sub(*before).filter(|_| is_counted)?;
        Some(difference.saturating_mul(*unit_ns))
    });
    differences.next()
}

/// The samples of a run with what they are explained by, in their order; histograms have none.
pub fn explain_run(run: &Run) -> Vec<(&SampleRecord, Explained)> {
    let mut before_it = None;
    let explained = run.samples().map(|sample| {
        let explained = explain(sample, before_it);
        before_it = Some(Over::from(sample));
        (sample, explained)
    });
    explained.collect()
}

/// How long after its intended start a sample had to wait for the one before it, in ns.
///
/// If there was a wait at all, it lasts until the counters after the other sample were read, from
/// which on this one's count.
fn missed_start_ns(sample: &SampleRecord, before_it: Over) -> u64 {
    if before_it.end_ns <= sample.intended_ns {
        return 0;
    }
    let own_end_ns = sample.intended_ns + sample.delay_ns();
    let started_ns = sample.started_ns.unwrap_or(own_end_ns).min(own_end_ns);
    before_it.counted_ns.min(started_ns).saturating_sub(sample.intended_ns)
}

/// Where the time of several samples went, together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    /// How many samples.
    pub samples: usize,
    /// Their delays together, in ns.
    pub delay_ns: u64,
    /// Each part of them together in ns; `None` = unknown in every one of them.
    pub parts_ns: BTreeMap<Part, Option<u64>>,
}

impl Account {
    /// Adds samples up.
    pub fn of<'a>(samples: impl IntoIterator<Item = &'a Explained>) -> Self {
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

    /// A part as a share of the delay, from 0 to 1; `None` if it is unknown or there is no delay.
    pub fn share(&self, part: Part) -> Option<f64> {
        let time_ns = self.parts_ns.get(&part).copied().flatten()?;
        (self.delay_ns > 0).then(|| time_ns as f64 / self.delay_ns as f64)
    }

    /// The share of the delay that is not in the remainder; `None` without any delay.
    pub fn explained_share(&self) -> Option<f64> {
        self.share(Part::Remainder).map(|share| 1.0 - share)
    }

    /// The parts that are unknown.
    pub fn unknown(&self) -> impl Iterator<Item = Part> + '_ {
        self.parts_ns.iter().filter(|(_, time_ns)| time_ns.is_none()).map(|(part, _)| *part)
    }
}
