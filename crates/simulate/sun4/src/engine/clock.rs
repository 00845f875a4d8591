//! Time, and the clock that interrupts each 10 ms.

use rand::RngExt;

use super::{Engine, Mode, State};
use crate::log::Event;
use crate::scheduler::{HZ, TICK_NS};
use crate::system::{Accounting, Swapping};

/// Ticks between turns of equal processes.
const TURN: u64 = HZ / 10;
/// Seconds after which a sleeper is swapped.
const LONG_SLEEP_S: u64 = 20;

impl Engine<'_> {
    pub(super) fn next_tick_ns(&self) -> u64 {
        (self.ticks + 1) * TICK_NS
    }

    /// Runs a process in the kernel, then in user mode; ticks on the way are handled afterwards.
    pub(super) fn spend(&mut self, process: usize, system_ns: u64, user_ns: u64) {
        let system_end_ns = self.now_ns + system_ns;
        self.now_ns = system_end_ns + user_ns;
        self.hat.log.now_ns = self.now_ns;
        while self.next_tick_ns() <= self.now_ns {
            let is_system = user_ns == 0 || self.next_tick_ns() <= system_end_ns;
            let mode = if is_system { Mode::System(process) } else { Mode::User(process) };
            self.unseen.push_back(mode);
            self.ticks += 1;
        }
        if self.system.accounting == Accounting::Exact {
            let outcome = &mut self.processes[process].outcome;
            outcome.system_ns += system_ns;
            outcome.user_ns += user_ns;
        }
    }

    /// Handles a tick, in the order of docs/mmu-sun4.md.
    pub(super) fn see_tick(&mut self, mode: Mode) {
        self.seen += 1;
        if let Mode::User(process) | Mode::System(process) = mode {
            if self.processes[process].state != State::Ended {
                self.scheduler.charge(process);
            }
            if self.system.accounting == Accounting::Tick {
                let outcome = &mut self.processes[process].outcome;
                let account = match mode {
                    Mode::User(_) => &mut outcome.user_ns,
                    _ => &mut outcome.system_ns,
                };
                *account += TICK_NS;
            }
        }
        while let Some(&(tick, process)) = self.timers.first()
            && tick <= self.seen
        {
            self.timers.pop_first();
            self.processes[process].woken_ns = tick * TICK_NS;
            self.wake(process);
        }
        self.must_switch |= self.seen.is_multiple_of(TURN);
        if self.seen.is_multiple_of(5 * HZ) {
            self.scheduler.each_five_seconds(usize::from(self.current.is_some()));
        }
        if self.seen.is_multiple_of(HZ) {
            self.scheduler.each_second();
            self.swap();
        }
    }

    /// The tick at which a process that goes to sleep now wakes: the first after its time.
    pub(super) fn due(&mut self, sleep_ns: u64) -> u64 {
        let late = self.rng.random_range(0..1000) < self.system.jitter_permille;
        (self.now_ns.saturating_add(sleep_ns)).div_ceil(TICK_NS).max(self.ticks + 1)
            + u64::from(late)
    }

    /// Puts the running process to sleep.
    pub(super) fn block(&mut self, process: usize, for_child: bool) {
        self.processes[process].state = State::Asleep { since: self.ticks, for_child };
        self.scheduler.sleep(process);
        self.current = None;
    }

    pub(super) fn wake(&mut self, process: usize) {
        self.processes[process].state = State::Runnable;
        self.scheduler.wake(process);
        self.hat.log.note(Event::Wake { process });
        self.must_switch = true;
    }

    fn swap(&mut self) {
        if self.system.swapping == Swapping::Off {
            return;
        }
        for index in 0..self.processes.len() {
            let process = &self.processes[index];
            let State::Asleep { since, .. } = process.state else { continue };
            let is_long = self.seen.saturating_sub(since) >= LONG_SLEEP_S * HZ;
            let is_empty = self.system.swapping == Swapping::Eager && self.hat.is_unmapped(index);
            if !process.is_swapped && (is_long || is_empty) {
                self.processes[index].is_swapped = true;
                self.hat.swap_out(index);
                self.hat.log.note(Event::SwapOut { process: index });
            }
        }
    }
}
