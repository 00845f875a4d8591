//! One thread and all CPUs, observed while the thread responds: what each response waited for, where, and
//! who executed instead.

use std::fs;
use std::time::Duration;

use profile::{CriticalPath, Response, only_schedules};
use sys::clock::monotonic_ns;
use sys::perf_rings::{PerfRings, SwitchScope};

use crate::names::kernel_function;
use crate::recording::{SamplerError, online_cpus, refused};
use crate::records::Records;
use crate::running;
use crate::timeline::Timeline;

/// How long records stay in the kernel's memory, at most.
const ROUND: Duration = Duration::from_millis(20);
/// Memory of each CPU in pages, at first; less where a limit of locked memory forbids it.
const MOST_RING_PAGES: usize = 2048;
const LEAST_RING_PAGES: usize = 8;
/// Memory of all CPUs in pages.
const ALL_RING_PAGES: usize = 8192;

/// A recording of a thread that is under way.
pub struct ResponseRecording {
    rings: PerfRings,
    records: Records,
    timeline: Timeline,
    scope: SwitchScope,
    /// Responses whose records may still come, and whether each could begin when it was due.
    waiting: Vec<(Response, bool)>,
    /// The time at which the run's clock is 0, on the monotonic clock.
    origin_ns: u64,
    found: Vec<CriticalPath>,
    /// Responses of which records were lost.
    unknown: usize,
}

impl ResponseRecording {
    /// Begins to record a thread of a run whose clock is 0 at a time of the monotonic clock. Fails where the
    /// kernel does not permit it.
    pub fn begin(thread: u32, origin_ns: u64) -> Result<Self, SamplerError> {
        let (rings, scope) = rings(thread)?;
        let records = Records::of(&rings.attribute_bytes())?;
        let mut timeline = Timeline::of(thread.cast_signed(), |thread| {
            let name = fs::read_to_string(format!("/proc/{thread}/comm")).ok()?;
            Some(name.trim_end().to_owned())
        });
        let stat = fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
        if running::thread(&stat).is_some_and(|(_, _, could_run)| !could_run) {
            timeline.sleeps(monotonic_ns());
        }
        let (waiting, found) = (Vec::new(), Vec::new());
        Ok(Self { rings, records, timeline, scope, waiting, origin_ns, found, unknown: 0 })
    }

    /// Adds a response that has ended; with `is_due` it could begin at its intended start.
    pub fn add(&mut self, response: Response, is_due: bool) {
        self.waiting.push((response, is_due));
    }

    /// Waits a little, and takes what was recorded meanwhile.
    pub fn round(&mut self) {
        self.rings.wait(ROUND);
        self.drain(false);
    }

    /// Ends the recording: the critical paths of all responses that are known, and what is missing.
    pub fn finish(mut self) -> Result<(Vec<CriticalPath>, Vec<String>), SamplerError> {
        self.rings.stop()?;
        self.drain(true);
        let mut missed = Vec::new();
        if self.unknown > 0 {
            missed.push("responses of which records were lost".to_owned());
        }
        if !self.scope.with_kernel {
            missed.push(
                "where it waited (sysctl kernel.perf_event_paranoid=1 permits it)".to_owned(),
            );
        }
        if !self.scope.is_of_machine {
            missed.push(
                "who executed instead (root, CAP_PERFMON or sysctl kernel.perf_event_paranoid=0)"
                    .to_owned(),
            );
        }
        Ok((self.found, missed))
    }

    fn drain(&mut self, is_end: bool) {
        let Self { rings, records, timeline, .. } = self;
        rings.drain(|bytes| records.add(bytes));
        records.settle(is_end, |time_ns, record| timeline.take(time_ns, record));
        let settled_ns = if is_end { u64::MAX } else { records.taken_until_ns() };
        let origin_ns = self.origin_ns;
        let is_settled = |response: &Response| response.end_ns.saturating_add(origin_ns);
        for (response, is_due) in std::mem::take(&mut self.waiting) {
            if is_settled(&response) > settled_ns {
                self.waiting.push((response, is_due));
                continue;
            }
            match self.path(response, is_due) {
                Some(path) => self.found.push(path),
                None => self.unknown += 1,
            }
            // The next one is due later.
            self.timeline.forget_before(response.intended_ns + origin_ns);
        }
    }

    fn path(&mut self, response: Response, is_due: bool) -> Option<CriticalPath> {
        let origin_ns = self.origin_ns;
        let [from_ns, to_ns] =
            [response.intended_ns, response.end_ns].map(|ns| ns.saturating_add(origin_ns));
        let mut segments = self.timeline.segments(from_ns, to_ns, is_due, &kernel_function)?;
        for segment in &mut segments {
            segment.from_ns -= origin_ns;
            segment.to_ns -= origin_ns;
            let names = std::mem::take(&mut segment.whereabouts).into_iter();
            segment.whereabouts = names.skip_while(|name| only_schedules(name)).collect();
        }
        Some(CriticalPath { response, segments })
    }
}

/// The memory of the records, of as much as is permitted.
fn rings(thread: u32) -> Result<(PerfRings, SwitchScope), SamplerError> {
    let cpus = online_cpus()?;
    let of_each = (ALL_RING_PAGES / cpus.len().max(1)).max(LEAST_RING_PAGES);
    // The largest power of two that is not more.
    let ring_pages = MOST_RING_PAGES.min(1 << of_each.ilog2());
    let mut scope = SwitchScope { is_of_machine: true, with_kernel: true, ring_pages };
    loop {
        let error = match PerfRings::open_switches(thread, scope, &cpus) {
            Ok(rings) => return Ok((rings, scope)),
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) if scope.is_of_machine => scope.is_of_machine = false,
            Some(libc::EACCES) if scope.with_kernel => scope.with_kernel = false,
            Some(libc::EPERM) if scope.ring_pages > LEAST_RING_PAGES => scope.ring_pages /= 2,
            _ => return Err(refused(&error)),
        }
    }
}
