//! What the scheduler does: which tasks the virtual CPUs switch between, and who wakes up whom.

use std::collections::HashMap;

use crate::records::Event;

/// Beyond it nothing is recorded any more, and the file says so.
const MOST_EVENTS: usize = 8 << 20;
/// The kernel's `TASK_COMM_LEN`.
pub(crate) const NAME_BYTES: usize = 16;

/// A task's number and name at a time; zeros where the kernel has no type information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TaskName {
    pub(crate) pid: u32,
    pub(crate) name: [u8; NAME_BYTES],
}

/// All events, and the names of their tasks.
#[derive(Default)]
pub(crate) struct Scheduler {
    pub(crate) events: Vec<Event>,
    pub(crate) names: Vec<TaskName>,
    numbers: HashMap<TaskName, u32>,
    pub(crate) is_full: bool,
}

impl Scheduler {
    pub(crate) fn number(&mut self, name: TaskName) -> u32 {
        let names = &mut self.names;
        *self.numbers.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() as u32 - 1
        })
    }

    pub(crate) fn record(&mut self, event: Event) {
        self.is_full |= self.events.len() == MOST_EVENTS;
        if !self.is_full {
            self.events.push(event);
        }
    }
}
