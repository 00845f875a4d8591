//! What the plugin records besides counts. The crate `profile` includes this file by its path.

/// Functions of user code have numbers from here on.
pub(crate) const FIRST_USER_FUNCTION: u32 = 1 << 31;

/// A time at which an interval ends, as it was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Instructions of all virtual CPUs before it.
    pub(crate) instructions: u64,
    /// The call stack that executed.
    pub(crate) node: u32,
    /// Whether nothing executed.
    pub(crate) is_idle: bool,
    /// The virtual CPU.
    pub(crate) cpu: u32,
}

/// An event of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The emulator's time.
    pub(crate) time_ns: u64,
    pub(crate) cpu: u32,
    /// The call stack that the virtual CPU executed.
    pub(crate) node: u32,
    /// The address of the task.
    pub(crate) task: u64,
    pub(crate) what: What,
}

/// What happened to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The virtual CPU leaves it for the other one.
    Switch {
        /// The address of the task that continues.
        next: u64,
        /// 0 if it can continue.
        state: u64,
        /// The number of its name.
        name: u32,
    },
    /// It was waiting, and can continue from now on.
    Wake,
}

/// A part of a file in the address space of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) program: u32,
    /// The number of the file's path.
    pub(crate) path: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Where it begins in its file, in bytes.
    pub(crate) offset: u64,
}
