//! The watch without an end, for the server of metrics and the black box.

use doctor::Snapshot;
use sys::clock::monotonic_ns;

use crate::bounded::BoundedSurvey;
use crate::{Recorder, Survey};

/// Snapshots take at most one part in this many: 0.25 % of a CPU. Diagnosis and writing come on top.
const SNAPSHOT_SHARE: u64 = 400;
/// Shortest interval, in ns.
pub const INTERVAL_NS_MIN: u64 = 1_000_000_000;

/// Watches intervals of `every_ns`, each from the end of the last, while `proceed` returns true for
/// the snapshots at its ends. `wait` waits until a time in ns of the monotonic clock, or a stop.
pub fn watch_forever(
    survey: Survey,
    every_ns: u64,
    recorder: Option<&Recorder>,
    wait: impl Fn(u64),
    mut proceed: impl FnMut(&Snapshot, &Snapshot) -> bool,
) {
    let mut survey = BoundedSurvey::new(survey, every_ns / SNAPSHOT_SHARE);
    let origin_ns = monotonic_ns();
    let mut take = || {
        let snapshot = survey.snapshot(monotonic_ns() - origin_ns);
        recorder.iter().for_each(|recorder| recorder.record(&snapshot));
        snapshot
    };
    let mut before = take();
    loop {
        wait(origin_ns + before.at_ns + every_ns);
        let after = take();
        if !proceed(&before, &after) {
            return;
        }
        before = after;
    }
}

/// Keeps this process in memory and ahead of others, as far as that is permitted: a machine that is
/// out of memory must not stop it. `complain` reports what is not permitted.
pub fn become_steadfast(complain: fn(&str)) {
    if let Err(error) = sys::memory::lock_touched() {
        complain(&format!(
            "thrashlab: not locked in memory: {error}; it may stall with the machine"
        ));
    }
    if let Err(error) = sys::process::become_urgent() {
        complain(&format!("thrashlab: no real-time priority: {error}; a busy CPU may hold it up"));
    }
}
