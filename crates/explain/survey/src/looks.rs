//! Snapshots within one interval: they find the processes that end before its last snapshot.

use doctor::Snapshot;
use sys::clock::{monotonic_ns, process_cpu_ns};

/// Minimum time between two snapshots: a process that lives between them is not seen.
pub const LEAST_PAUSE_NS: u64 = 1_000_000_000;
/// Snapshots take at most one part in this many: 0.3 % of a CPU.
const LOOK_SHARE: u64 = 300;

/// Repeated snapshots, with the processes that ended meanwhile.
pub struct Looks {
    ended: Snapshot,
    next_ns: Option<u64>,
    look_ns: u64,
    least_pause_ns: u64,
}

impl Looks {
    /// Looks whose pauses double from this one to the least pause of a long time.
    pub fn from_pause(least_pause_ns: u64) -> Self {
        Self { ended: Snapshot::default(), next_ns: None, look_ns: 0, least_pause_ns }
    }

    /// When the next one is due, in ns of the monotonic clock.
    pub fn next_ns(&mut self) -> u64 {
        let shared_ns = self.look_ns.saturating_mul(LOOK_SHARE);
        let pause_ns = match self.least_pause_ns {
            LEAST_PAUSE_NS => shared_ns.max(LEAST_PAUSE_NS),
            first_ns => first_ns,
        };
        *self.next_ns.get_or_insert_with(|| monotonic_ns().saturating_add(pause_ns))
    }

    /// Takes a snapshot, with the processes that ended since the first one.
    pub fn take(&mut self, look: &mut impl FnMut() -> Snapshot) -> Snapshot {
        let used_ns = process_cpu_ns();
        let mut seen = look();
        seen.keep_ended(std::mem::take(&mut self.ended));
        self.look_ns = process_cpu_ns() - used_ns;
        seen
    }

    /// Keeps a snapshot that is not the last.
    pub fn keep(&mut self, seen: Snapshot) {
        (self.ended, self.next_ns) = (seen, None);
        self.least_pause_ns = self.least_pause_ns.saturating_mul(2).min(LEAST_PAUSE_NS);
    }
}
