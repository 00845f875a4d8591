//! Memory traces of programs: what a program referred to, in order, with what happened meanwhile.
//!
//! A trace is a sequence of [`Block`]s, each of one thread. A block has two columns: runs of
//! references to one page ([`PageRun`]), which is all that a simulator of translation needs, and
//! the references themselves ([`Reference`]), which a reader may leave packed. Between them stand
//! [`Event`]s: threads, forks, mappings.
//!
//! **Invariant:** bounded memory whatever the length; a bad record is counted and located, never a
//! panic. No clock and no threads here.

mod block;
mod error;
mod export;
mod filled;
mod import;
mod notes;
mod pages;
mod reference;
mod summary;
mod tlt;

pub use block::{Block, Columns, Event, Source};
pub use error::TraceError;
pub use export::{Left, Sink, create};
pub use import::{Format, open, open_as, open_stream};
pub use notes::{BadRecords, Notes, PackedBytes};
pub use reference::{Access, MAX_SIZE_LOG2, PAGE_SHIFT, PageRun, Reference, ReferenceWords};
pub use summary::{EventCounts, Summary};
pub use tlt::{
    BlockHead, Effort, Encoder, Granularity, Header, PackedBlock, QUICK_LEVEL,
    REFERENCES_PER_BLOCK, Reader, SMALL_LEVEL, Writer,
};
