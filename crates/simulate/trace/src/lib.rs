//! Memory traces: what a program referred to, in order, with events.
//!
//! A trace is a sequence of [`Block`]s of one thread each. A block has runs of references to one
//! page ([`PageRun`]), which suffice to simulate translation, single [`Reference`]s, which may stay
//! packed, and [`Event`]s: threads, forks, mappings.
//!
//! **Invariant:** bounded memory; bad records are counted, never a panic. No clock, no threads.

mod block;
mod error;
mod export;
mod import;
mod notes;
mod pages;
mod reference;
mod summary;
mod tlt;

pub use block::{Block, Event, Source};
pub use error::TraceError;
pub use export::{Omitted, Sink, create};
pub use import::{Format, open, open_as, open_stream};
pub use notes::{BadRecords, Notes, PackedBytes};
pub use reference::{Access, MAX_SIZE_LOG2, PAGE_SHIFT, PageRun, Reference, ReferenceWords};
pub use summary::{EventCounts, Summary};
pub use tlt::{
    BlockHead, Effort, Encoder, Granularity, Header, PackedBlock, QUICK_LEVEL,
    REFERENCES_PER_BLOCK, Reader, SMALL_LEVEL, Writer,
};
