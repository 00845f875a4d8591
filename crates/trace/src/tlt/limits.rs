//! How large things may be, so that a broken file cannot make a reader take much memory.

/// References of a block at which it is full.
pub const REFERENCES_PER_BLOCK: u32 = 1 << 16;
/// Most references of a block.
pub(crate) const MOST_REFERENCES: u32 = 1 << 21;
/// Most events of a block.
pub(crate) const MOST_EVENTS: u32 = 1 << 16;
/// Most bytes of an events column.
pub(crate) const MOST_EVENT_BYTES: u32 = 1 << 21;
/// Most bytes of an event's text; a longer one is shortened.
pub(crate) const LONGEST_TEXT_BYTES: usize = 1 << 16;
/// Most bytes of one reference in the pages column: its own, and of a new page a number, a base and
/// a number.
pub(crate) const MOST_PAGE_BYTES: u64 = 1 + 5 + 1 + 10;
/// Entries of the table of recent pages: 64 of data, 64 of instructions.
pub(crate) const RECENT: usize = 128;
