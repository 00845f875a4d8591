//! The scheduler of 4.3BSD and SunOS 4: run queues by priority, decaying use of the CPU.

use std::collections::VecDeque;

pub(crate) const HZ: u64 = 100;
pub(crate) const TICK_NS: u64 = 1_000_000_000 / HZ;

/// The best priority of user mode; what sleeps in the kernel wakes above it.
const USER_PRIORITY: u32 = 50;
const LEAST_PRIORITY: u32 = 127;
/// Queue of woken processes, which come before all in user mode.
const WOKEN_QUEUE: usize = 10;
const QUEUES: usize = 32;
const PRIORITIES_A_QUEUE: u32 = 4;
/// One, in the load average's fixed point.
const ONE: u64 = 256;
/// exp(-5/60) of that: the average of a minute, updated each 5 s.
const LOAD_DECAY: u64 = 235;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Recent use of the CPU, in ticks that decay.
    recent: u32,
    /// Its priority in user mode, as last computed.
    priority: u32,
    queue: Option<usize>,
    /// Whole seconds that it has slept.
    slept_s: u32,
    is_asleep: bool,
    is_dead: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Scheduler {
    entries: Vec<Entry>,
    queues: [VecDeque<usize>; QUEUES],
    load: u64,
}

impl Scheduler {
    /// Adds a process that waits for the CPU or sleeps.
    pub(crate) fn add(&mut self, is_asleep: bool) {
        let process = self.entries.len();
        self.entries.push(Entry { priority: priority(0), is_asleep, ..Entry::default() });
        if !is_asleep {
            self.requeue(process);
        }
    }

    /// Puts the running process at the end of its queue.
    pub(crate) fn requeue(&mut self, process: usize) {
        let queue = (self.entries[process].priority / PRIORITIES_A_QUEUE) as usize;
        self.push(process, queue);
    }

    pub(crate) fn wake(&mut self, process: usize) {
        let slept_s = self.entries[process].slept_s;
        for _ in 1..slept_s.min(64) {
            self.decay(process);
        }
        let entry = &mut self.entries[process];
        (entry.is_asleep, entry.slept_s, entry.priority) = (false, 0, priority(entry.recent));
        self.push(process, WOKEN_QUEUE);
    }

    fn push(&mut self, process: usize, queue: usize) {
        self.entries[process].queue = Some(queue);
        self.queues[queue].push_back(process);
    }

    pub(crate) fn sleep(&mut self, process: usize) {
        self.entries[process].is_asleep = true;
    }

    pub(crate) fn end(&mut self, process: usize) {
        self.entries[process].is_dead = true;
    }

    /// Removes the process that runs next from its queue.
    pub(crate) fn next(&mut self) -> Option<usize> {
        let process = self.queues.iter_mut().find_map(VecDeque::pop_front)?;
        self.entries[process].queue = None;
        Some(process)
    }

    /// A tick in which this process ran.
    pub(crate) fn charge(&mut self, process: usize) {
        let entry = &mut self.entries[process];
        entry.recent = (entry.recent + 1).min(255);
        if entry.recent.is_multiple_of(4) {
            entry.priority = priority(entry.recent);
        }
    }

    /// Decays the use of the CPU and moves processes to their queues.
    pub(crate) fn each_second(&mut self) {
        for process in 0..self.entries.len() {
            let entry = &mut self.entries[process];
            if entry.is_dead {
                continue;
            }
            if entry.is_asleep {
                entry.slept_s += 1;
                if entry.slept_s > 1 {
                    continue;
                }
            }
            self.decay(process);
            let entry = &mut self.entries[process];
            entry.priority = priority(entry.recent);
            let queue = (entry.priority / PRIORITIES_A_QUEUE) as usize;
            if let Some(old) = entry.queue.filter(|old| *old != queue && *old != WOKEN_QUEUE) {
                self.queues[old].retain(|other| *other != process);
                self.push(process, queue);
            }
        }
    }

    /// Updates the load average.
    pub(crate) fn each_five_seconds(&mut self, running: usize) {
        let waiting: usize = self.queues.iter().map(VecDeque::len).sum();
        let now = (waiting + running) as u64 * ONE;
        self.load = (LOAD_DECAY * self.load + (ONE - LOAD_DECAY) * now) / ONE;
    }

    fn decay(&mut self, process: usize) {
        let entry = &mut self.entries[process];
        entry.recent = (u64::from(entry.recent) * 2 * self.load / (2 * self.load + ONE)) as u32;
    }
}

fn priority(recent: u32) -> u32 {
    (USER_PRIORITY + recent / 4).min(LEAST_PRIORITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_take_turns_and_the_woken_come_first() {
        let mut scheduler = Scheduler::default();
        (0..3).for_each(|_| scheduler.add(false));
        assert_eq!(scheduler.next(), Some(0));
        scheduler.requeue(0);
        assert_eq!(scheduler.next(), Some(1));
        scheduler.sleep(1);
        scheduler.wake(1);
        let order: Vec<_> = std::iter::from_fn(|| scheduler.next()).collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn who_used_the_cpu_waits_behind_and_is_forgiven() {
        let mut scheduler = Scheduler::default();
        (0..2).for_each(|_| scheduler.add(false));
        assert_eq!(scheduler.next(), Some(0));
        (0..100).for_each(|_| scheduler.charge(0));
        scheduler.requeue(0);
        assert_eq!([scheduler.next(), scheduler.next()], [Some(1), Some(0)]);
        // Without load nothing is remembered for longer than a second.
        scheduler.each_second();
        scheduler.requeue(0);
        scheduler.requeue(1);
        assert_eq!(scheduler.next(), Some(0));
    }

    #[test]
    fn the_load_average_reaches_the_number_of_those_that_run() {
        let mut scheduler = Scheduler::default();
        (0..4).for_each(|_| scheduler.add(false));
        (0..200).for_each(|_| scheduler.each_five_seconds(0));
        assert!((3.9..=4.0).contains(&(scheduler.load as f64 / 256.0)), "{}", scheduler.load);
        // Then 200 = 25 (ticks of each in a second) × 8 is what use settles at.
        for _ in 0..100 {
            for process in 0..4 {
                (0..25).for_each(|_| scheduler.charge(process));
            }
            scheduler.each_second();
        }
        assert!((180..=200).contains(&scheduler.entries[0].recent));
    }
}
