//! `vmtest`: the parent that forks and looks, and the children that step through their segment.

use std::convert::Infallible;
use std::hint::black_box;
use std::io;

use sys::clock::{monotonic_ns, sleep_until_ns};
use sys::memory::{Advice, Mapping};
use sys::process::{all_usage, usable_cpus, usage, wait_any};
use workloads::VmtestPlan;

use crate::memory_board::{Noted, Side, Word, last_end_ns, totals};

/// Calibration steps through the segment for at least this time, in ns.
const CALIBRATED_NS: u64 = 5_000_000;
/// How often it does; the best counts.
const TRIES: u32 = 3;

/// The parent: makes rounds whenever the observer asks for one.
pub(crate) fn live(side: &Side<'_>, plan: &VmtestPlan) -> io::Result<Infallible> {
    let too_large = |_| io::Error::other("process_size is more than this machine can address");
    let segment = Mapping::anonymous(usize::try_from(plan.process_bytes).map_err(too_large)?)?;
    // The program of 1990 is about small pages; a kernel without huge ones refuses the advice.
    let _ = segment.advise(Advice::Small);
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
    side.say(&Word::Ready { loops: Some(loops) })?;
    loop {
        side.await_start()?;
        side.say(&round.make()?)?;
    }
}

/// The time of one loop of one process alone, in ns.
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
    fn make(&self) -> io::Result<Word> {
        let (side, processes) = (self.side, self.side.processes);
        side.clear();
        let before = all_usage();
        let own_before = usage();
        // Without the children, who note what they use themselves.
        let note_own = || side.note_usage(processes, &usage().since(&own_before));
        note_own();
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
            note_own();
        }
        Ok(Word::Round {
            started_ns,
            // Not when it was noticed, which would be in steps of the parent's sleep.
            completed_ns: last_end_ns(side.board, processes),
            touches: totals(side.board).touches,
            usage: all_usage().since(&before).0,
        })
    }

    fn step(&self, row: usize) -> i32 {
        let step_bytes = self.plan.step_bytes as usize;
        let mut noted = Noted::new(self.side, row, self.plan.touches_a_loop());
        let mut left = self.loops;
        while left > 0 {
            left -= noted.piece(left, false, |loops| {
                black_box(self.segment.step_through(step_bytes, loops));
            });
        }
        self.side.note_end(row);
        0
    }
}
