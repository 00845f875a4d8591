//! The slots that threads write, read in the order in which they were claimed, each up to where it
//! was when the pass began. A child claims its slot after its parent wrote the fork.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use trace::Event;

use crate::processes::Processes;
use crate::shared::{Shared, set_tail};
use crate::stream::{Stream, Taker};
use crate::wire;

/// Words read between two looks whether the taker is full; an encoder accepts 4096 references more.
const MOST_WORDS: u64 = 1 << 11;
/// How long a forked process may take to appear; one that is killed at once never does.
const PATIENCE: Duration = Duration::from_secs(1);

const MOST_MISSED: usize = 20;

#[derive(Debug, Default)]
struct Seat {
    index: usize,
    process: u32,
    thread: u32,
    image: u64,
    begun: bool,
    tail: u64,
    stream: Stream,
}

/// All recorded threads, by the order in which they claimed their slots.
#[derive(Default)]
pub(crate) struct Slots {
    seats: BTreeMap<u64, Seat>,
    pub(crate) processes: Processes,
    /// Number of slots claimed so far.
    claims: u64,
    /// Rest of this pass: seat and cursor.
    pass: VecDeque<(u64, u64)>,
    /// Ended processes whose references are all read.
    ended: VecDeque<u32>,
    /// Forked processes that have not appeared, with their deadlines.
    awaited: BTreeMap<u32, Instant>,
    /// What could not be recorded, with reasons.
    pub(crate) missed: Vec<String>,
    rings: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub process: u32,
    pub thread: u32,
    /// Seat and cursor to be read; `None` for the end of a process.
    part: Option<(u64, u64)>,
}

impl Slots {
    /// The next turn; `None` if there is nothing to read now.
    pub(crate) fn turn(&mut self, shared: &Shared) -> io::Result<Option<Turn>> {
        if self.pass.is_empty() && self.ended.is_empty() {
            self.begin_pass(shared)?;
        }
        while let Some((claim, cursor)) = self.pass.front().copied() {
            let Some(seat) = self.seats.get(&claim).filter(|seat| seat.is_before(cursor)) else {
                self.pass.pop_front();
                continue;
            };
            let (process, thread) = (seat.process, seat.thread);
            return Ok(Some(Turn { process, thread, part: Some((claim, cursor)) }));
        }
        let ended = self.ended.front();
        Ok(ended.map(|process| Turn { process: *process, thread: 0, part: None }))
    }

    pub(crate) fn take(&mut self, turn: Turn, shared: &Shared, taker: &mut impl Taker) {
        let Some((claim, cursor)) = turn.part else {
            self.ended.retain(|process| *process != turn.process);
            return taker.event(Event::Exit);
        };
        let Some(seat) = self.seats.get_mut(&claim) else { return };
        if !std::mem::replace(&mut seat.begun, true) {
            taker.event(Event::ThreadStart);
        }
        let slot = shared.slot(seat.index);
        let end = cursor.min(seat.tail + MOST_WORDS);
        let first = seat.tail as usize & (wire::RING_WORDS - 1);
        let ring = &slot[wire::SLOT_RING..];
        let count = (end - seat.tail) as usize;
        let until_wrap = count.min(wire::RING_WORDS - first);
        let (front, back) = (&ring[first..first + until_wrap], &ring[..count - until_wrap]);
        seat.stream.take(front, taker);
        seat.stream.take(back, taker);
        seat.tail = end;
        set_tail(slot, end);
        for event in seat.stream.noted.drain(..) {
            match event {
                Event::Fork { child } if !self.processes.known.contains_key(&child) => {
                    self.awaited.insert(child, Instant::now() + PATIENCE);
                }
                Event::Missed { reason } if self.missed.len() < MOST_MISSED => {
                    self.missed.push(reason);
                }
                _ => {}
            }
        }
    }

    /// Whether nothing can be written any more.
    pub(crate) fn are_over(&mut self) -> bool {
        self.awaited.retain(|_, until| Instant::now() < *until);
        self.seats.is_empty() && self.ended.is_empty() && self.awaited.is_empty()
    }

    /// Sleeps briefly until there is much to read; returns whether there is.
    pub(crate) fn sleep(&self, shared: &Shared) -> bool {
        shared.sleep(self.rings);
        shared.rings() != self.rings
    }

    /// Finds new threads, and the cursors of all.
    fn begin_pass(&mut self, shared: &Shared) -> io::Result<()> {
        self.rings = shared.rings();
        // Before reading the cursors: an ended process has written everything.
        let gone = self.processes.gone();
        if shared.header(wire::HEADER_CLAIMS).load(Ordering::Acquire) != self.claims {
            self.find_new(shared)?;
        }
        let mut is_idle = true;
        for (claim, seat) in &self.seats {
            let cursor = shared.slot(seat.index)[wire::SLOT_CURSOR].load(Ordering::Acquire);
            if seat.is_before(cursor) {
                is_idle = false;
                self.pass.push_back((*claim, cursor));
            }
        }
        if is_idle {
            self.clear_away(shared, &gone);
        }
        Ok(())
    }

    fn find_new(&mut self, shared: &Shared) -> io::Result<()> {
        let mut found = 0;
        for index in 0..wire::SLOTS {
            let slot = shared.slot(index);
            let get = |word: usize| slot[word].load(Ordering::Relaxed);
            let state = slot[wire::SLOT_STATE].load(Ordering::Acquire);
            let claim = get(wire::SLOT_CLAIM);
            if ![wire::LIVE, wire::ENDED].contains(&state) || self.seats.contains_key(&claim) {
                continue;
            }
            let (process, image) = (get(wire::SLOT_PROCESS) as u32, get(wire::SLOT_IMAGE));
            found += 1;
            self.awaited.remove(&process);
            self.processes.meet(process, get(wire::SLOT_PID) as u32, image)?;
            self.seats.insert(claim, Seat { index, process, image, ..Seat::default() });
        }
        self.claims += found;
        // Threads are numbered in the order of their claims.
        for seat in self.seats.values_mut().rev().take(found as usize).rev() {
            seat.thread = self.processes.next_thread(seat.process, seat.image);
        }
        Ok(())
    }

    /// Frees the slots of ended threads that are all read.
    fn clear_away(&mut self, shared: &Shared, gone: &[u32]) {
        let known = &self.processes.known;
        self.seats.retain(|_, seat| {
            let slot = shared.slot(seat.index);
            let has_ended = slot[wire::SLOT_STATE].load(Ordering::Acquire) == wire::ENDED
                || gone.contains(&seat.process)
                || known.get(&seat.process).is_some_and(|process| process.image > seat.image);
            // It may have written between the two looks.
            let is_read = !seat.is_before(slot[wire::SLOT_CURSOR].load(Ordering::Acquire));
            if has_ended && is_read {
                shared.forget_ring(seat.index);
                slot[wire::SLOT_STATE].store(wire::FREE, Ordering::Release);
            }
            !(has_ended && is_read)
        });
        for process in gone {
            if !self.seats.values().any(|seat| seat.process == *process) {
                self.processes.known.remove(process);
                self.ended.push_back(*process);
            }
        }
    }
}

impl Turn {
    /// Whether two turns are of the same thread, and not of the end of its process.
    pub(crate) fn is_of_thread_of(self, other: Self) -> bool {
        (self.process, self.thread, self.part.is_some())
            == (other.process, other.thread, other.part.is_some())
    }
}

impl Seat {
    /// Whether there is something to read before a cursor; a new thread has its start.
    fn is_before(&self, cursor: u64) -> bool {
        self.tail < cursor || !self.begun
    }
}
