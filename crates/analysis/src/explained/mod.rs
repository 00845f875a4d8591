//! Why a response took as long as it did: its delay as a sum of parts.
//!
//! # What the kernel counts
//!
//! A task runs, waits for a CPU, or sleeps, so three counters are disjoint by what they are:
//!
//! | state | counter | from | to |
//! |---|---|---|---|
//! | running | `rusage` user, system | put on a CPU | taken off it |
//! | waiting for a CPU | `schedstat` `wait_ns` (= taskstats `cpu`) | runnable | put on a CPU |
//! | waiting for I/O | taskstats `blkio` | sleeps in `io_schedule` | woken |
//!
//! `blkio` is every sleep in `io_schedule` (`in_iowait`, `kernel/sched/core.c`): for a locked page
//! (`folio_wait_bit_common`), a buffer, a free request of the disk, and the pauses of a writer in
//! `balance_dirty_pages`. Other sleeps (`mmap_lock`, `reclaim_throttle` since 5.16, a commit of
//! the journal, the penalty of `memory.high`) are in no counter.
//!
//! The other counters of delay accounting are time on the wall between two places of the kernel,
//! whatever the task did in between, so they *overlap* the states, and some of them each other:
//!
//! | counter | from where to where | contains | kernels |
//! |---|---|---|---|
//! | `swapin` | a read from swap is submitted (`swap_readpage`, `swap_read_folio`); of a device without queue, such as zram, also the read | running, `blkio` of a full request queue | 5.17 on |
//! | | sleeps in `io_schedule` below `do_swap_page` | nothing; *not* in `blkio` | before 5.17 |
//! | `thrashing` | waits for a page that was evicted a short while ago (`folio_wait_bit_common`) | `blkio`, then waiting for a CPU | 4.20 on: of files; 6.1 on: of swap too |
//! | | its read from swap (`swap_readpage`) | `swapin` | 6.1 on |
//! | `freepages` | `do_try_to_free_pages` | running, waiting for a CPU, `blkio`, other sleeps | all |
//! | `compact` | `__alloc_pages_direct_compact` | the same | 5.17 on |
//! | `wpcopy` | `wp_page_copy`, `hugetlb_wp` | the same, `freepages`, `compact` | 6.0 on at the latest |
//! | `irq` | interrupts while the task is on a CPU | nothing: not in running | 6.4 on |
//!
//! So the same wait for a page of the working set is `thrashing` and `blkio`, and may be `swapin`.
//! Where swap is an ordinary disk, most of a swap-in is the wait for its page and is counted as
//! `thrashing` or, for a page that was not of the working set, as `blkio` alone.
//! `irq` counts only with `CONFIG_IRQ_TIME_ACCOUNTING`; without it interrupts are in running.
//! A task of a group that has used up its quota counts as waiting for a CPU.
//!
//! # How they become parts
//!
//! 1. A **missed start** is the time in which the sample before was still under way.
//! 2. What is left is divided into states, each at most what is left, in this order: user, system,
//!    IRQ, waiting for a CPU, block I/O; what no state claims is the rest.
//! 3. *Throttled* takes from waiting for a CPU, at most what the group was throttled: CPUs together,
//!    so with several of them it is an upper bound.
//! 4. Each cause takes its time out of the states: thrashing, then swap-in less thrashing, from
//!    block I/O, waiting for a CPU, system, rest, user; then reclaim, compaction, and copy-on-write
//!    less both, from system, waiting for a CPU, block I/O, rest, user. User comes last and comes at
//!    all because the kernel splits running time by the tick.
//! 5. What is left of each state is the part of that name, and what is left of the rest is
//!    [`Part::Remainder`].
//!
//! So the parts always sum to the whole, and nothing is counted twice. Within a cause nobody knows
//! which states it consisted of; it takes from the rest only when all others are empty, so that the
//! remainder is never told smaller than it is because of that order. On kernels from 5.17 to 6.0
//! thrashing of files is subtracted from swap-ins that have nothing to do with it, which moves time
//! from swap-in to block I/O.
//!
//! The counters were read up to 10 ms before the intended start and after completion. The idle
//! sleep in there is in no counter. What the probe's process waited for between its completion and
//! its report is in them, though: at most the time from `completed_ns` to `at_ns`.
//!
//! Delay accounting counts a wait when it ends: of a sample that was given up, the wait that it was
//! given up in is in the remainder.

mod account;
mod counted;
mod difference;

use std::collections::BTreeMap;

use model::{Line, Run, SampleRecord};
use serde::{Deserialize, Serialize};

pub use account::Account;
use counted::Counted;
pub use difference::{ExplainedDifference, PartDifference};
pub(crate) use difference::{Value, difference};

/// Where time went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The sample before was still under way.
    MissedStart,
    /// Running its own code.
    User,
    /// Running in the kernel, for none of the causes below.
    System,
    /// Runnable, while others had the CPUs.
    CpuWait,
    /// Runnable, but the group had used up its quota.
    Throttled,
    /// Sleeping until a disk was done, for none of the causes below.
    BlockIo,
    /// Reading from swap (what that means on which kernel: see the module).
    SwapIn,
    /// Waiting for pages that were evicted a short while before.
    Thrashing,
    /// Freeing memory itself before it got any.
    Reclaim,
    /// Moving pages to get a run of free ones.
    Compaction,
    /// Copying pages on the first write after a fork.
    CopyOnWrite,
    /// Interrupted.
    Irq,
    /// None of all these: other sleeps, stolen time, and whatever has no counter here.
    Remainder,
}

impl Part {
    /// All parts, in the order in which they are told.
    pub const ALL: [Self; 13] = [
        Self::MissedStart,
        Self::User,
        Self::System,
        Self::CpuWait,
        Self::Throttled,
        Self::BlockIo,
        Self::SwapIn,
        Self::Thrashing,
        Self::Reclaim,
        Self::Compaction,
        Self::CopyOnWrite,
        Self::Irq,
        Self::Remainder,
    ];

    /// What it is called in a table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MissedStart => "missed start",
            Self::User => "user",
            Self::System => "system",
            Self::CpuWait => "CPU wait",
            Self::Throttled => "throttled",
            Self::BlockIo => "block I/O",
            Self::SwapIn => "swap-in",
            Self::Thrashing => "thrashing",
            Self::Reclaim => "reclaim",
            Self::Compaction => "compaction",
            Self::CopyOnWrite => "copy-on-write",
            Self::Irq => "IRQ",
            Self::Remainder => "unexplained",
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
    /// Whether any counter of the kernel says where the time went; the times of samples alone tell
    /// of missed starts and nothing else.
    #[must_use]
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

/// Divides the delay of a sample; `before_it` is when the sample that the probe made before it was
/// over.
#[must_use]
pub fn explain(sample: &SampleRecord, before_it: Option<Over>) -> Explained {
    let delay_ns = sample.delay_ns();
    let missed_ns = before_it.map_or(0, |before_it| missed_start_ns(sample, before_it));
    let mut states = States::of(&Counted::of(sample), delay_ns - missed_ns);
    let mut parts_ns = states.causes();
    parts_ns.extend([
        (Part::MissedStart, Some(missed_ns)),
        (Part::User, states.user_ns),
        (Part::System, states.system_ns),
        (Part::CpuWait, states.cpu_wait_ns),
        (Part::BlockIo, states.block_io_ns),
        (Part::Irq, states.irq_ns),
        (Part::Remainder, Some(states.rest_ns)),
    ]);
    Explained { delay_ns, parts_ns }
}

/// The samples of a run with what they are explained by, in their order. Empty if the probe is one
/// of a high rate: those are kept as histograms, which have no sample to explain.
#[must_use]
pub fn explain_run(run: &Run) -> Vec<(&SampleRecord, Explained)> {
    let mut before_it = None;
    let samples = run.lines.iter().filter_map(|line| match line {
        Line::Sample(sample) => Some(&**sample),
        _ => None,
    });
    let explained = samples.map(|sample| {
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

/// What a task did, in ns: disjoint, and together the whole time.
struct States {
    user_ns: Option<u64>,
    system_ns: Option<u64>,
    irq_ns: Option<u64>,
    cpu_wait_ns: Option<u64>,
    block_io_ns: Option<u64>,
    rest_ns: u64,
    counted: Counted,
}

impl States {
    fn of(counted: &Counted, whole_ns: u64) -> Self {
        let mut rest_ns = whole_ns;
        let mut claim = |counted_ns: Option<u64>| {
            let claimed_ns = counted_ns?.min(rest_ns);
            rest_ns -= claimed_ns;
            Some(claimed_ns)
        };
        let user_ns = claim(counted.user_ns);
        let system_ns = claim(counted.system_ns);
        let irq_ns = claim(counted.irq_ns);
        let cpu_wait_ns = claim(counted.cpu_wait_ns);
        let block_io_ns = claim(counted.block_io_ns);
        // Before 5.17 reading from swap was a state of its own, and no cause.
        let counted = Counted {
            swap_in_ns: counted.swap_in_ns.filter(|_| counted.swap_in_overlaps),
            apart_swap_in_ns: claim(counted.swap_in_ns.filter(|_| !counted.swap_in_overlaps)),
            ..counted.clone()
        };
        Self { user_ns, system_ns, irq_ns, cpu_wait_ns, block_io_ns, rest_ns, counted }
    }

    /// Takes the causes out of the states.
    fn causes(&mut self) -> BTreeMap<Part, Option<u64>> {
        let counted = self.counted.clone();
        let throttled_ns = counted
            .throttled_ns
            .map(|amount_ns| take(amount_ns, [self.cpu_wait_ns.as_mut()]))
            .filter(|_| self.cpu_wait_ns.is_some());
        let thrashing_ns = counted.thrashing_ns.map(|amount_ns| self.take_as_waiting(amount_ns));
        let beside = |amount_ns: Option<u64>, inner: &[Option<u64>]| {
            let inner_ns = inner.iter().flatten().fold(0_u64, |sum, ns| sum.saturating_add(*ns));
            amount_ns.map(|amount_ns| amount_ns.saturating_sub(inner_ns))
        };
        let swap_in_ns = beside(counted.swap_in_ns, &[counted.thrashing_ns])
            .map(|amount_ns| self.take_as_waiting(amount_ns))
            .or(counted.apart_swap_in_ns);
        let reclaim_ns = counted.reclaim_ns.map(|amount_ns| self.take_as_working(amount_ns));
        let compaction_ns = counted.compaction_ns.map(|amount_ns| self.take_as_working(amount_ns));
        let inner = [counted.reclaim_ns, counted.compaction_ns];
        let copy_ns = beside(counted.copy_on_write_ns, &inner)
            .map(|amount_ns| self.take_as_working(amount_ns));
        BTreeMap::from([
            (Part::Throttled, throttled_ns),
            (Part::Thrashing, thrashing_ns),
            (Part::SwapIn, swap_in_ns),
            (Part::Reclaim, reclaim_ns),
            (Part::Compaction, compaction_ns),
            (Part::CopyOnWrite, copy_ns),
        ])
    }

    /// Takes the time of a cause that mostly waits.
    fn take_as_waiting(&mut self, amount_ns: u64) -> u64 {
        let waiting = [self.block_io_ns.as_mut(), self.cpu_wait_ns.as_mut()];
        let taken_ns = take(amount_ns, waiting);
        let others = [self.system_ns.as_mut(), Some(&mut self.rest_ns), self.user_ns.as_mut()];
        taken_ns + take(amount_ns - taken_ns, others)
    }

    /// Takes the time of a cause that mostly runs.
    fn take_as_working(&mut self, amount_ns: u64) -> u64 {
        let taken_ns = take(amount_ns, [self.system_ns.as_mut(), self.cpu_wait_ns.as_mut()]);
        let others = [self.block_io_ns.as_mut(), Some(&mut self.rest_ns), self.user_ns.as_mut()];
        taken_ns + take(amount_ns - taken_ns, others)
    }
}

/// Takes up to an amount from states, in their order; how much it was.
fn take<const COUNT: usize>(amount_ns: u64, states: [Option<&mut u64>; COUNT]) -> u64 {
    let mut left_ns = amount_ns;
    for state in states.into_iter().flatten() {
        let taken_ns = left_ns.min(*state);
        *state -= taken_ns;
        left_ns -= taken_ns;
    }
    amount_ns - left_ns
}
