//! `touch`: the parent, and the processes that touch memory in an order, with think time.

use std::convert::Infallible;
use std::hint::black_box;
use std::io;

use jobs::{Access, Backing, Chain, Layout, Pattern, TouchPlan, Zipf, in_order, shuffled, uniform};
use sys::clock::{monotonic_ns, set_timer_slack_ns, sleep_until_ns};
use sys::memory::Mapping;
use sys::process::{usage, wait_any};

use crate::memory_counters::{Message, Recorder, Side};
use crate::touched_memory::{chain_of, private, shared};

/// The parent: prepares the shared memory, forks all, and watches them.
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
            Err(error) => side.shared.fail(row, &error.to_string()),
        }
        1
    })?;
    for _ in 0..rows.len() {
        if let Some((pid, exit)) = wait_any(true)? {
            side.ended(rows.get(&pid), exit)?;
        }
    }
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
        // Think time must not include the default timer slack.
        let _ = set_timer_slack_ns(1);
        // Preparing the memory is not counted.
        self.side.record_usage(self.row, &usage());
        self.side.send(&Message::Ready { loops: None })?;
        self.side.await_start()?;
        self.touch(mapping);
        self.side.record_end(self.row);
        self.side.send(&Message::Done)
    }

    /// Touches until the work is done, or until this process is killed.
    fn touch(&self, mapping: &Mapping) {
        let (plan, places) = (self.plan, self.layout.places());
        let (seed, row) = (self.side.assignment.spec.seed, self.row as u64);
        let ordered = |stride| in_order(places, stride, row, plan.processes);
        match plan.pattern {
            Pattern::Sequential => self.follow(mapping, ordered(1)),
            Pattern::Strided => self.follow(mapping, ordered(plan.stride)),
            Pattern::Uniform => self.follow(mapping, uniform(places, seed, row)),
            Pattern::Zipf => {
                let skew = plan.skew_milli as f64 / 1000.0;
                self.follow(mapping, Zipf::new(places, skew, seed, row));
            }
            Pattern::Chase => self.chase(mapping, places, seed),
        }
    }

    /// Touches in an order. Random places are touched in another order first: some would come late.
    fn follow(&self, mapping: &Mapping, mut order: impl Iterator<Item = u64>) {
        let mut recorder = Recorder::new(self.side, self.row, 1);
        if self.plan.is_random() {
            let (seed, row) = (self.side.assignment.spec.seed, self.row as u64);
            let mut first = shuffled(self.layout.places(), seed, row);
            self.in_order(mapping, &mut recorder, true, &mut first);
        } else {
            self.in_order(mapping, &mut recorder, true, &mut order);
        }
        self.in_order(mapping, &mut recorder, false, &mut order);
    }

    fn in_order(
        &self,
        mapping: &Mapping,
        recorder: &mut Recorder<'_>,
        is_first: bool,
        order: &mut impl Iterator<Item = u64>,
    ) {
        let mut offsets = order.map(|place| self.layout.offset(place));
        self.pieces(recorder, is_first, |count| {
            let offsets = offsets.by_ref().take(count as usize);
            match self.plan.access {
                Access::Read => {
                    black_box(mapping.read_each(offsets));
                }
                Access::Write => mapping.write_each(offsets, 1),
            }
        });
    }

    fn chase(&self, mapping: &Mapping, places: u64, seed: u64) {
        let chain = Chain::new(places, seed, chain_of(self.plan, self.row as u64));
        let mut at = self.layout.offset(chain.first(self.row as u64, self.plan.processes));
        let mut recorder = Recorder::new(self.side, self.row, 1);
        for is_first in [true, false] {
            self.pieces(&mut recorder, is_first, |count| {
                at = match self.plan.access {
                    Access::Read => mapping.follow(at, count),
                    Access::Write => mapping.follow_and_write(at, count),
                };
            });
        }
    }

    /// The first touches of all places, or all others, with think time between batches.
    fn pieces(&self, recorder: &mut Recorder<'_>, is_first: bool, mut touch: impl FnMut(u64)) {
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
            let count = recorder.piece(left.min(left_of_batch), is_first, &mut touch);
            left -= count;
            left_of_batch -= count;
            if left_of_batch == 0 && left > 0 {
                sleep_until_ns(monotonic_ns().saturating_add(self.plan.think_ns));
                recorder.go_on();
                left_of_batch = batch;
            }
        }
    }
}
