//! The counts of a simulation.

use std::collections::BTreeMap;

/// Numbers by the names of the fields that hold them.
macro_rules! by_name {
    ($of:ident: $($field:ident),*) => {
        [$((stringify!($field), $of.$field)),*]
    };
}

/// `hatcnt`, the counters of SunOS's hardware address translation, in its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HatCounts {
    /// Contexts given to an address space.
    pub ctxalloc: u64,
    /// Contexts taken from another address space; part of `ctxalloc`.
    pub ctxstolen: u64,
    /// Faults that found a pmeg for their segment.
    pub pmghave: u64,
    /// Pmegs given to a segment.
    pub pmgalloc: u64,
    /// Pmegs taken from an address space without a context; part of `pmgalloc`.
    pub pmgstolen_noctx: u64,
    /// Pmegs taken from an address space with a context; part of `pmgalloc`.
    pub pmgstolen_ctx: u64,
    /// Pmegs given to a segment whose region had an smeg (three levels only).
    pub smghave: u64,
    /// Smegs given to a region.
    pub smgalloc: u64,
    /// Smegs taken from an address space without a context; part of `smgalloc`.
    pub smgstolen_noctx: u64,
    /// Smegs taken from an address space with a context; part of `smgalloc`.
    pub smgstolen_ctx: u64,
    /// Pmegs that came back into the segment map with a context, without a fault.
    pub ctxpmgs: u64,
}

impl HatCounts {
    /// The counters by name, in their order.
    pub fn words(&self) -> [(&'static str, u64); 11] {
        by_name!(
            self: ctxalloc, ctxstolen, pmghave, pmgalloc, pmgstolen_noctx, pmgstolen_ctx, smghave,
            smgalloc, smgstolen_noctx, smgstolen_ctx, ctxpmgs
        )
    }
}

/// One process of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessOutcome {
    /// Name of its program.
    pub name: String,
    /// Start, in ns from that of the simulation.
    pub started_ns: u64,
    /// End, in the same unit; of one that did not end, that of the simulation.
    pub ended_ns: u64,
    /// Time in user mode as the system's accounts have it, in ns.
    pub user_ns: u64,
    /// Time in the kernel as the system's accounts have it, in ns.
    pub system_ns: u64,
    /// Touches.
    pub touches: u64,
    /// Translation faults.
    pub translation_faults: u64,
    /// How often it came back from being swapped.
    pub swap_ins: u64,
    /// How long each of its interactions took, from waking to the answer, in ns.
    pub responses_ns: Vec<u64>,
}

/// What happened between the beginning of a workload and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// From the beginning of the workload to its end, in ns.
    pub elapsed_ns: u64,
    /// Time of its processes in user mode as the system's accounts have it, in ns.
    pub user_ns: u64,
    /// Time of its processes in the kernel as the system's accounts have it, in ns.
    pub system_ns: u64,
    /// Time in which no process ran, in ns.
    pub idle_ns: u64,
    /// Touches of all programs.
    pub touches: u64,
    /// Traps because a page had no valid entry, or none that may be written.
    pub translation_faults: u64,
    /// Processes that came back from being swapped.
    pub swap_ins: u64,
    /// Switches from one process to another.
    pub context_switches: u64,
    /// Pmegs taken from another segment.
    pub steals: u64,
    /// Pmegs filled as a whole from a copy in memory.
    pub loads: u64,
    /// Groups of entries that the software lost too, for lack of room for their copy.
    pub software_steals: u64,
    /// The counters of the hardware address translation.
    pub hat: HatCounts,
    /// Each process, in the order of their beginning.
    pub processes: Vec<ProcessOutcome>,
}

impl Outcome {
    /// Durations of all interactions in ascending order, in ns.
    pub fn responses_ns(&self) -> Vec<u64> {
        let all = self.processes.iter().flat_map(|process| &process.responses_ns);
        let mut responses: Vec<u64> = all.copied().collect();
        responses.sort_unstable();
        responses
    }

    /// The smallest response time in ns with at least `percent` of the interactions at or below it;
    /// `None` without interactions.
    pub fn response_ns(&self, percent: u64) -> Option<u64> {
        let responses = self.responses_ns();
        let rank = (responses.len() as u64 * percent.min(100)).div_ceil(100);
        responses.get((rank as usize).saturating_sub(1)).copied()
    }

    /// All sums and counters by name, times in ns; interactions only if there were any.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let sums = by_name!(
            self: elapsed_ns, user_ns, system_ns, idle_ns, touches, translation_faults, swap_ins,
            context_switches, steals, loads, software_steals
        );
        let responses = [("response_median_ns", 50), ("response_95th_ns", 95)];
        let time = |(name, percent)| Some((name, self.response_ns(percent)?));
        let responses = responses.into_iter().filter_map(time);
        let interactions = self.processes.iter().map(|process| process.responses_ns.len() as u64);
        let interactions = Some(interactions.sum()).filter(|count| *count > 0);
        let counted = interactions.map(|count| ("interactions", count));
        sums.into_iter().chain(self.hat.words()).chain(counted).chain(responses).collect()
    }
}
