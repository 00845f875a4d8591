//! `touch`: the parent, and the processes that touch memory in an order, at a pace.

use std::convert::Infallible;
use std::hint::black_box;
use std::io;

use sys::clock::{monotonic_ns, set_timer_slack_ns, sleep_until_ns};
use sys::memory::Mapping;
use sys::process::{usage, wait_any};
use workloads::{
    Access, Backing, Chain, InOrder, Layout, Pattern, Shuffled, TouchPlan, Uniform, Zipf,
};

use crate::memory_board::{Noted, Side, Word};
use crate::touched_memory::{chain_of, private, shared};

/// The parent: makes what all share, forks all, and looks after them.
pub(crate) fn live(side: &Side<'_>, plan: &TouchPlan) -> io::Result<Infallible> {
    let layout = plan.layout(side.assignment.spec.seed);
    let common = match plan.backing {
        Backing::Private => None,
        _ => Some(shared(side, plan, &layout)?),
    };
    let rows = side.fork_all(|row| {
        let process = Process { side, plan, layout: &layout, row };
        match process.live(common.as_ref()) {
            Ok(()) => return 0,
            Err(error) => side.board.fail(row, &error.to_string()),
        }
        1
    })?;
    for _ in 0..rows.len() {
        if let Some((pid, exit)) = wait_any(true)? {
            side.ended(rows.get(&pid), exit)?;
        }
    }
    // All have done their work; the observer makes an end of this process.
    loop {
        sleep_until_ns(u64::MAX);
    }
}

struct Process<'a> {
    side: &'a Side<'a>,
    plan: &'a TouchPlan,
    layout: &'a Layout,
    row: usize,
}

impl Process<'_> {
    fn live(&self, common: Option<&Mapping>) -> io::Result<()> {
        let own;
        let mapping = match common {
            Some(mapping) => mapping,
            None => {
                own = private(self.side, self.plan, self.layout, self.row as u64)?;
                &own
            }
        };
        // A thought is to be as long as it is meant to be, not as the tolerance of timers has it.
        let _ = set_timer_slack_ns(1);
        // What making the memory took is not what touching it takes.
        self.side.note_usage(self.row, &usage());
        self.side.say(&Word::Ready { loops: None })?;
        self.side.await_start()?;
        self.touch(mapping);
        self.side.note_end(self.row);
        self.side.say(&Word::Done)
    }

    /// Touches until the work is done, or until this process is killed.
    fn touch(&self, mapping: &Mapping) {
        let places = self.layout.places();
        let seed = self.side.assignment.spec.seed;
        let (row, rows) = (self.row as u64, self.plan.processes);
        let skew = self.plan.skew_milli as f64 / 1000.0;
        // Of places that are drawn some would come for the first time very late.
        let shuffled = || Shuffled::new(places, seed, row);
        match self.plan.pattern {
            Pattern::Sequential | Pattern::Strided => {
                let stride =
                    if self.plan.pattern == Pattern::Strided { self.plan.stride } else { 1 };
                self.follow(mapping, None, InOrder::new(places, stride, row, rows));
            }
            Pattern::Uniform => {
                self.follow(mapping, Some(shuffled()), Uniform::new(places, seed, row));
            }
            Pattern::Zipf => {
                self.follow(mapping, Some(shuffled()), Zipf::new(places, skew, seed, row));
            }
            Pattern::Chase => self.chase(mapping, places, seed),
        }
    }

    /// Touches in an order; the first time that each place is touched in another one, if there is.
    fn follow(
        &self,
        mapping: &Mapping,
        first: Option<Shuffled>,
        mut order: impl Iterator<Item = u64>,
    ) {
        let mut noted = Noted::new(self.side, self.row, 1);
        match first {
            Some(mut first) => self.in_order(mapping, &mut noted, true, &mut first),
            None => self.in_order(mapping, &mut noted, true, &mut order),
        }
        self.in_order(mapping, &mut noted, false, &mut order);
    }

    fn in_order(
        &self,
        mapping: &Mapping,
        noted: &mut Noted<'_>,
        is_first: bool,
        order: &mut impl Iterator<Item = u64>,
    ) {
        let mut offsets = order.map(|place| self.layout.offset(place));
        match self.plan.access {
            Access::Read => self.pieces(noted, is_first, |count| {
                black_box(mapping.read_each(offsets.by_ref().take(count as usize)));
            }),
            Access::Write => self.pieces(noted, is_first, |count| {
                mapping.write_each(offsets.by_ref().take(count as usize), 1);
            }),
        }
    }

    fn chase(&self, mapping: &Mapping, places: u64, seed: u64) {
        let chain = Chain::new(places, seed, chain_of(self.plan, self.row as u64));
        let mut at = self.layout.offset(chain.first(self.row as u64, self.plan.processes));
        let mut noted = Noted::new(self.side, self.row, 1);
        for is_first in [true, false] {
            match self.plan.access {
                Access::Read => self.pieces(&mut noted, is_first, |count| {
                    at = mapping.follow(at, count);
                }),
                Access::Write => self.pieces(&mut noted, is_first, |count| {
                    at = mapping.follow_and_write(at, count);
                }),
            }
        }
    }

    /// The first touches of all places, or all that follow, with the thoughts between them.
    fn pieces(&self, noted: &mut Noted<'_>, is_first: bool, mut touch: impl FnMut(u64)) {
        let batch = match (self.plan.think_ns, self.plan.batch) {
            (0, _) => u64::MAX,
            (_, 0) => self.layout.places(),
            (_, batch) => batch,
        };
        let mut left = match (is_first, self.plan.work) {
            (true, _) => self.plan.first_touches(),
            (false, 0) => u64::MAX,
            (false, work) => work,
        };
        let mut left_of_batch = batch;
        while left > 0 {
            let count = noted.piece(left.min(left_of_batch), is_first, &mut touch);
            left -= count;
            left_of_batch -= count;
            if left_of_batch == 0 && left > 0 {
                sleep_until_ns(monotonic_ns().saturating_add(self.plan.think_ns));
                noted.go_on();
                left_of_batch = batch;
            }
        }
    }
}
