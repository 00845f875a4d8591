//! Call stacks as they were recorded: addresses, each as seldom as possible.

use std::collections::HashMap;
use std::sync::Arc;

/// A place in code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Frame {
    /// The thread itself, by its name.
    Thread(Arc<str>),
    /// An address of the kernel.
    Kernel(u64),
    /// An offset of a file.
    File(Arc<str>, u64),
    /// An address of a process without a file, such as that of a compiler at run time.
    Memory(i32, u64),
    /// A part of a file that is touched, and whether it is code.
    Touched(Arc<str>, bool),
    /// Memory without a file that is touched.
    TouchedMemory,
    /// The caller is not known: the copy of the stack ends, or it could not be followed.
    CutOff,
    /// Time on a CPU of which there is no sample.
    NotSampled,
    /// A wait whose call stack was not recorded.
    NoStack,
}

/// The root of all.
pub(crate) const NOTHING: u32 = u32::MAX;

/// Call stacks by number: the frame and its caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stacks {
    pub(crate) all: Vec<(u32, Frame)>,
    known: HashMap<(u32, Frame), u32>,
}

impl Stacks {
    /// The number of the call stack that continues another one.
    pub(crate) fn of(&mut self, caller: u32, frame: Frame) -> u32 {
        let all = &mut self.all;
        *self.known.entry((caller, frame)).or_insert_with_key(|(caller, frame)| {
            all.push((*caller, frame.clone()));
            all.len() as u32 - 1
        })
    }
}
