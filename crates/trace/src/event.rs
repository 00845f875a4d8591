//! What a program does beside referring to memory.

use serde::{Deserialize, Serialize};

/// Something that happened to the address space or the threads of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The program that a process runs from here on, its first or that of an `execve`.
    Program {
        /// Its command line.
        command: String,
    },
    /// A thread began; the block's thread is the new one.
    ThreadStart,
    /// A thread ended.
    ThreadEnd,
    /// The process made another one, which begins with its address space.
    Fork {
        /// Number of the new process.
        child: u32,
    },
    /// The process ended.
    Exit,
    /// Memory was mapped.
    Map {
        /// First byte.
        address: u64,
        /// Length in bytes.
        length_bytes: u64,
        /// Whether it is backed by a file.
        file: bool,
        /// Whether it is shared with other processes.
        shared: bool,
    },
    /// Memory was unmapped.
    Unmap {
        /// First byte.
        address: u64,
        /// Length in bytes.
        length_bytes: u64,
    },
    /// The end of the heap was moved.
    Break {
        /// The new end.
        address: u64,
    },
    /// What could not be recorded, with the reason (a child that was not followed, records lost).
    Missed {
        /// What and why, for the reader.
        reason: String,
    },
}
