//! What each thread of a program on this machine did when, for programs that draw time.

use crate::part::Part;

/// What one thread did when. Times are in ns from the first of all threads on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadTimes {
    /// Its name.
    pub name: String,
    /// Its number.
    pub tid: u32,
    /// What it did, in order of time and without overlaps; none where switches were not recorded.
    pub spans: Vec<ThreadSpan>,
    /// When it was sampled on a CPU, and in which call stack, in order of time.
    pub samples: Vec<(u64, u32)>,
}

/// A time in which a thread did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSpan {
    /// From when on, in ns.
    pub from_ns: u64,
    /// Until when, in ns.
    pub to_ns: u64,
    /// Whether it executed, waited, or waited for a CPU.
    pub part: Part,
    /// The call stack at which it left its CPU, where that was recorded.
    pub node: Option<u32>,
}

impl ThreadTimes {
    /// From its first time to its last.
    pub(crate) fn range_ns(&self) -> (u64, u64) {
        let samples = self.samples.iter().map(|(at_ns, _)| *at_ns);
        let times = self.spans.iter().flat_map(|it| [it.from_ns, it.to_ns]).chain(samples);
        times.fold((u64::MAX, 0), |(first, last), at| (first.min(at), last.max(at)))
    }
}
