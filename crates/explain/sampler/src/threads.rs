//! The time of threads, from their switches.

use std::collections::HashMap;
use std::sync::Arc;

use profile::{Part, ThreadSpan, ThreadTimes};

use crate::waits::Waits;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not known: no switch yet.
    Unknown,
    OnCpu {
        since_ns: u64,
    },
    Off {
        since_ns: u64,
        could_run: bool,
    },
}

/// Where a thread left its CPU: a call stack.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeftAt {
    /// Recorded, which stands for so many times.
    Recorded(u32, u64),
    /// Seen while it waited, by looks that may miss waits of up to so many ns.
    Seen(u32, u64),
}

impl LeftAt {
    fn stack(self) -> u32 {
        match self {
            Self::Recorded(stack, _) | Self::Seen(stack, _) => stack,
        }
    }

    /// The call stack, and how many waits one of so many ns stands for: looks meet a short one seldom.
    fn of_wait(self, ns: u64) -> (u32, u64) {
        match self {
            Self::Recorded(stack, times) => (stack, times),
            Self::Seen(stack, missed_ns) => (stack, (missed_ns / ns.max(1)).max(1)),
        }
    }
}

/// A thread.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) name: Arc<str>,
    state: State,
    pub(crate) on_cpu_ns: u64,
    pub(crate) waits_ns: u64,
    pub(crate) waits_for_cpu_ns: u64,
    /// Samples of it by call stack.
    pub(crate) samples: HashMap<u32, u64>,
    /// Samples of its page faults: the call stack, and how many faults each stands for.
    pub(crate) faults: Vec<(u32, u64)>,
    /// Where it left its CPU last.
    pub(crate) left_at: Option<LeftAt>,
    /// The times that it was off its CPU, and could not run, or could.
    pub(crate) off: [Waits; 2],
    /// What it did when, if that is kept, by the clock of the records.
    pub(crate) times: Option<ThreadTimes>,
}

impl Thread {
    /// A thread that was made at a time; it waits for its first turn.
    pub(crate) fn made(name: Arc<str>, at_ns: u64) -> Self {
        Self { state: State::Off { since_ns: at_ns, could_run: true }, ..Self::unknown(name) }
    }

    /// A thread that was there before its first record.
    pub(crate) fn unknown(name: Arc<str>) -> Self {
        Self {
            name,
            state: State::Unknown,
            on_cpu_ns: 0,
            waits_ns: 0,
            waits_for_cpu_ns: 0,
            samples: HashMap::new(),
            faults: Vec::new(),
            left_at: None,
            off: Default::default(),
            times: None,
        }
    }

    /// Keeps what it does when.
    pub(crate) fn keeping_times(mut self, tid: i32) -> Self {
        let (name, tid) = (self.name.to_string(), tid.cast_unsigned());
        self.times = Some(ThreadTimes { name, tid, spans: Vec::new(), samples: Vec::new() });
        self
    }

    fn keep(&mut self, from_ns: u64, to_ns: u64, part: Part) {
        let node = self.left_at.map(LeftAt::stack).filter(|_| part != Part::OnCpu);
        if let Some(times) = self.times.as_mut().filter(|_| from_ns < to_ns) {
            times.spans.push(ThreadSpan { from_ns, to_ns, part, node });
        }
    }

    /// Since when it waits without a known call stack.
    pub(crate) fn waits_since_ns(&self) -> Option<u64> {
        match self.state {
            State::Off { since_ns, could_run: false } if self.left_at.is_none() => Some(since_ns),
            _ => None,
        }
    }

    /// It executes from here on.
    pub(crate) fn comes(&mut self, at_ns: u64) {
        if let State::Off { since_ns, could_run } = self.state {
            let ns = at_ns.saturating_sub(since_ns);
            let sum = if could_run { &mut self.waits_for_cpu_ns } else { &mut self.waits_ns };
            *sum += ns;
            let part = if could_run { Part::WaitsForCpu } else { Part::Waits };
            self.keep(since_ns, at_ns, part);
            let left_at = self.left_at.take().map(|it| it.of_wait(ns));
            self.off[usize::from(could_run)].add(ns, left_at);
        }
        if !matches!(self.state, State::OnCpu { .. }) {
            self.state = State::OnCpu { since_ns: at_ns };
        }
    }

    /// It leaves its CPU, and could run on or not.
    pub(crate) fn leaves(&mut self, at_ns: u64, could_run: bool) {
        if let State::OnCpu { since_ns } = self.state {
            self.on_cpu_ns += at_ns.saturating_sub(since_ns);
            self.keep(since_ns, at_ns, Part::OnCpu);
        }
        self.state = State::Off { since_ns: at_ns, could_run };
    }

    /// It has ended, or the recording has.
    pub(crate) fn ends(&mut self, at_ns: u64) {
        match self.state {
            State::OnCpu { .. } => self.leaves(at_ns, true),
            State::Off { .. } => self.comes(at_ns),
            State::Unknown => {}
        }
        self.state = State::Unknown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waits::Sum;

    #[test]
    fn a_look_stands_for_as_many_waits_as_it_meets_one_of() {
        assert_eq!(LeftAt::Seen(3, 20_000).of_wait(1_000), (3, 20));
        assert_eq!(LeftAt::Seen(3, 20_000).of_wait(90_000), (3, 1));
        assert_eq!(LeftAt::Seen(3, 20_000).of_wait(0), (3, 20_000));
    }

    #[test]
    fn times_on_and_off_a_cpu_sum_to_the_whole() {
        let mut thread = Thread::made("it".into(), 100);
        thread.comes(110);
        thread.left_at = Some(LeftAt::Recorded(7, 1));
        thread.leaves(150, false);
        thread.comes(250);
        thread.leaves(260, true);
        thread.comes(300);
        thread.ends(310);
        assert_eq!((thread.on_cpu_ns, thread.waits_ns, thread.waits_for_cpu_ns), (60, 100, 50));
        let [waits, waits_for_cpu] = &thread.off;
        assert_eq!(waits.by_stack().0, [(7, Sum { ns: 100, times: 1 })]);
        assert_eq!(waits_for_cpu.by_stack(), (Vec::new(), Sum { ns: 50, times: 2 }));
        thread.ends(999);
        assert_eq!(thread.on_cpu_ns, 60, "an end counts once");
    }
}
