//! Who waits for the CPU: a list that is searched.

#[derive(Clone, Copy, Default)]
struct Entry {
    recent: u64,
    priority: u64,
    /// Queue and number within it, of one that waits.
    waits: Option<(u64, u64)>,
    slept_s: u64,
    is_asleep: bool,
    is_dead: bool,
}

/// All processes.
#[derive(Default)]
pub(super) struct Queue {
    entries: Vec<Entry>,
    arrivals: u64,
    /// The load average, in 256ths.
    load: u64,
}

/// Queue of those that woke.
const WOKEN: u64 = 10;

impl Queue {
    /// A new process.
    pub(super) fn add(&mut self) {
        self.entries.push(Entry { priority: priority(0), ..Entry::default() });
    }

    /// Goes to the end of the queue of its priority.
    pub(super) fn enter(&mut self, process: usize) {
        let queue = self.entries[process].priority / 4;
        self.enter_queue(process, queue);
    }

    fn enter_queue(&mut self, process: usize, queue: u64) {
        self.arrivals += 1;
        self.entries[process].waits = Some((queue, self.arrivals));
    }

    pub(super) fn sleep(&mut self, process: usize) {
        self.entries[process].is_asleep = true;
    }

    pub(super) fn end(&mut self, process: usize) {
        self.entries[process].is_dead = true;
    }

    pub(super) fn wake(&mut self, process: usize) {
        for _ in 1..self.entries[process].slept_s.min(64) {
            self.decay(process);
        }
        let entry = &mut self.entries[process];
        entry.is_asleep = false;
        entry.slept_s = 0;
        entry.priority = priority(entry.recent);
        self.enter_queue(process, WOKEN);
    }

    /// The first of the best queue.
    pub(super) fn take(&mut self) -> Option<usize> {
        let waiting = self.entries.iter().enumerate();
        let waiting = waiting.filter_map(|(process, entry)| Some((entry.waits?, process)));
        let (_, process) = waiting.min()?;
        self.entries[process].waits = None;
        Some(process)
    }

    pub(super) fn charge(&mut self, process: usize) {
        let entry = &mut self.entries[process];
        entry.recent = (entry.recent + 1).min(255);
        if entry.recent.is_multiple_of(4) {
            entry.priority = priority(entry.recent);
        }
    }

    pub(super) fn second(&mut self) {
        for process in 0..self.entries.len() {
            if self.entries[process].is_dead {
                continue;
            }
            if self.entries[process].is_asleep {
                self.entries[process].slept_s += 1;
                if self.entries[process].slept_s > 1 {
                    continue;
                }
            }
            self.decay(process);
            let entry = &mut self.entries[process];
            entry.priority = priority(entry.recent);
            let queue = entry.priority / 4;
            if let Some((old, _)) = entry.waits
                && old != queue
                && old != WOKEN
            {
                self.enter_queue(process, queue);
            }
        }
    }

    pub(super) fn five_seconds(&mut self, running: usize) {
        let waiting = self.entries.iter().filter(|entry| entry.waits.is_some()).count();
        self.load = (235 * self.load + 21 * 256 * (waiting + running) as u64) / 256;
    }

    fn decay(&mut self, process: usize) {
        let entry = &mut self.entries[process];
        entry.recent = entry.recent * 2 * self.load / (2 * self.load + 256);
    }
}

fn priority(recent: u64) -> u64 {
    (50 + recent / 4).min(127)
}
