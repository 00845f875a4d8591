//! Blocks of a trace, their events, and their sources.

use serde::{Deserialize, Serialize};

use crate::{Notes, PageRun, Reference, TraceError};

/// References of one thread in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Number of the process, from 0; not the system's.
    pub process: u32,
    /// Number of the thread within its process, from 0.
    pub thread: u32,
    /// Number of references in the trace before this block.
    pub first: u64,
    /// When it was recorded, in nanoseconds from the beginning of the recording, if that is known.
    pub at_ns: Option<u64>,
    /// The references page by page.
    pub runs: Vec<PageRun>,
    /// Single references; empty if only pages were requested or recorded.
    pub references: Vec<Reference>,
    /// What happened, each with the index in `runs` before which it did.
    pub events: Vec<(u32, Event)>,
}

/// Something that hands out a trace block by block.
pub trait Source {
    /// Replaces `block` with the next one; `false` at the end. Fails when reading fails.
    fn next(&mut self, block: &mut Block) -> Result<bool, TraceError>;

    /// Problems noticed besides the blocks: bad records, a truncated file.
    fn notes(&self) -> Notes {
        Notes::default()
    }

    /// Bytes of the file read, before decompression.
    fn read_bytes(&self) -> u64 {
        0
    }
}

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
    /// The process forked another one, which begins with its address space.
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
    /// The page tables of a guest map a page like this; before the first reference to it on this
    /// virtual CPU since a flush, and whenever readers may have forgotten it (docs/trace-format.md).
    Translation {
        /// Address of the page, or an address in it.
        address: u64,
        /// 0 for 4 KiB, 1 for 2 MiB, 2 for 1 GiB.
        size: u8,
        /// Whether it survives a flush that leaves global translations.
        is_global: bool,
    },
    /// A virtual CPU of a guest flushed its translations.
    Flush {
        /// Whether those of global pages, too.
        globals_too: bool,
    },
    /// A virtual CPU of a guest flushed the translation of one page.
    FlushPage {
        /// Address of the page, or an address in it.
        address: u64,
    },
}
