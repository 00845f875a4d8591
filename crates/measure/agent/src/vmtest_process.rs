//! `vmtest`: the parent that forks and checks, and the children that step through their segment.

use std::convert::Infallible;
use std::hint::black_box;
use std::io;

use jobs::VmtestPlan;
use sys::clock::{monotonic_ns, sleep_until_ns};
use sys::memory::Mapping;
use sys::process::{all_usage, usable_cpus, usage, wait_any};

use crate::memory_counters::{Message, Recorder, Side, last_end_ns, totals};

/// Shortest calibration, in ns.
const CALIBRATED_NS: u64 = 5_000_000;
const TRIES: u32 = 3;

/// The parent: runs a round on each request of the observer.
pub(crate) fn live(side: &Side<'_>, plan: &VmtestPlan) -> io::Result<Infallible> {
    let too_large = |_| io::Error::other("process_size is more than this machine can address");
    // The program of 1990 is about small pages.
    let segment = Mapping::small_pages(usize::try_from(plan.process_bytes).map_err(too_large)?)?;
    let step_bytes = plan.step_bytes as usize;
    segment.touch(step_bytes, 0);
    let loops = match plan.loops {
        0 => {
            let cpus_milli = side.assignment.cpus_milli.min(u64::from(usable_cpus()) * 1000);
            plan.calibrated_loops(loop_ns(&segment, step_bytes), cpus_milli)
        }
        loops => loops,
    };
    let round = Round { side, plan, segment: &segment, loops };
    side.send(&Message::Ready { loops: Some(loops) })?;
    loop {
        side.await_start()?;
        side.send(&round.make()?)?;
    }
}

fn loop_ns(segment: &Mapping, step_bytes: usize) -> f64 {
    let took_ns = |loops| {
        let started_ns = monotonic_ns();
        black_box(segment.step_through(step_bytes, loops));
        monotonic_ns() - started_ns
    };
    let mut loops = 1;
    let mut best_ns = took_ns(loops);
    while best_ns < CALIBRATED_NS {
        loops *= 2;
        best_ns = took_ns(loops);
    }
    best_ns = (1..TRIES).fold(best_ns, |best_ns, _| best_ns.min(took_ns(loops)));
    best_ns as f64 / loops as f64
}

struct Round<'a> {
    side: &'a Side<'a>,
    plan: &'a VmtestPlan,
    segment: &'a Mapping,
    loops: u64,
}

impl Round<'_> {
    fn make(&self) -> io::Result<Message> {
        let (side, processes) = (self.side, self.side.processes);
        side.clear();
        let before = all_usage();
        let own_before = usage();
        // Children record their own usage.
        let record_own = || side.record_usage(processes, &usage().since(&own_before));
        record_own();
        let started_ns = monotonic_ns();
        let rows = side.fork_all(|row| self.step(row))?;
        let mut left = processes;
        while left > 0 {
            sleep_until_ns(monotonic_ns().saturating_add(self.plan.look_ns));
            while left > 0
                && let Some((pid, exit)) = wait_any(false)?
            {
                left -= 1;
                side.ended(rows.get(&pid), exit)?;
            }
            record_own();
        }
        Ok(Message::Round {
            started_ns,
            // Not the later time at which the sleeping parent noticed it.
            completed_ns: last_end_ns(side.shared, processes),
            touches: totals(side.shared).touches,
            usage: all_usage().since(&before).0,
        })
    }

    fn step(&self, row: usize) -> i32 {
        let step_bytes = self.plan.step_bytes as usize;
        let mut recorder = Recorder::new(self.side, row, self.plan.touches_a_loop());
        let mut left = self.loops;
        while left > 0 {
            left -= recorder.piece(left, false, |loops| {
                black_box(self.segment.step_through(step_bytes, loops));
            });
        }
        self.side.record_end(row);
        0
    }
}
