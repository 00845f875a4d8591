//! What the scheduler does: which tasks the virtual CPUs switch between, and who wakes up whom.

use std::collections::HashMap;

use crate::nodes::Node;

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

/// What happened to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The virtual CPU leaves it for the other one; with its state, 0 if it can continue.
    Switch {
        /// The address of the task that continues.
        next: u64,
        state: u64,
        /// The number of its name.
        name: u32,
    },
    /// It was waiting, and can continue from now on.
    Wake,
}

/// An event of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) time_ns: u64,
    pub(crate) cpu: u32,
    /// What the virtual CPU executed.
    pub(crate) node: Node,
    /// The address of the task.
    pub(crate) task: u64,
    pub(crate) what: What,
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
