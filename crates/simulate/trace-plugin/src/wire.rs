//! The shared memory of plugin and recorder: a header, then slots. A slot is a ring of words from
//! one traced thread. The crate `tracer` includes this file by its path.

/// Kind and version of the memory.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"tlring\0\x01");

// Words of the header.
pub(crate) const HEADER_MAGIC: usize = 0;
pub(crate) const HEADER_NEXT_PROCESS: usize = 1;
/// Slots taken so far.
pub(crate) const HEADER_CLAIMS: usize = 2;
/// Not 0 when recording ends.
pub(crate) const HEADER_STOP: usize = 3;
/// Threads without a slot, which are not recorded.
pub(crate) const HEADER_LOST_THREADS: usize = 4;
/// Processes that loaded the plugin.
pub(crate) const HEADER_LOADED: usize = 5;
/// A futex in its low half: changes when there is something to read.
pub(crate) const HEADER_DOORBELL: usize = 8;
/// Not 0 while the recorder sleeps.
pub(crate) const HEADER_SLEEPING: usize = 16;
pub(crate) const HEADER_WORDS: usize = 512;

/// The number of threads that can be traced at a time.
pub(crate) const SLOTS: usize = 1024;
/// A power of 2.
pub(crate) const RING_WORDS: usize = 1 << 16;
/// How many words a thread writes before it notifies the recorder.
pub(crate) const CHUNK_WORDS: u64 = 1 << 12;

// Words of a slot.
pub(crate) const SLOT_STATE: usize = 0;
pub(crate) const SLOT_PID: usize = 1;
pub(crate) const SLOT_PROCESS: usize = 2;
pub(crate) const SLOT_IMAGE: usize = 3;
/// [`HEADER_CLAIMS`] when it was taken.
pub(crate) const SLOT_CLAIM: usize = 4;
/// Words ever written; only its thread writes this and the limit.
pub(crate) const SLOT_CURSOR: usize = 16;
/// The cursor at which the thread must check for room.
pub(crate) const SLOT_LIMIT: usize = 17;
/// A futex in its low half: words ever read.
pub(crate) const SLOT_TAIL: usize = 32;
/// Not 0 while its thread waits for room.
pub(crate) const SLOT_WAITING: usize = 48;
/// The start of its ring.
pub(crate) const SLOT_RING: usize = 512;
pub(crate) const SLOT_WORDS: usize = SLOT_RING + RING_WORDS;
pub(crate) const ALL_WORDS: usize = HEADER_WORDS + SLOTS * SLOT_WORDS;

// States of a slot: free, being taken, in use, after its thread's last word.
pub(crate) const FREE: u64 = 0;
pub(crate) const TAKEN: u64 = 1;
pub(crate) const LIVE: u64 = 2;
pub(crate) const ENDED: u64 = 3;

// A word is a `trace::Reference`: address from bit 5, access in bits 3 and 4, log2 of the size
// below. With access 3 it is one of the following.
pub(crate) const FETCH: u64 = 2 << 3;
pub(crate) const NO_ACCESS: u64 = 3 << 3;
/// Fetches from one page: bits 16..=63 are the first address, 5..=15 the count.
pub(crate) const FETCHES: u64 = 0;
/// An event: bits 32..=63 are the length in bytes of the words that follow, 5..=31 the code.
pub(crate) const EVENT: u64 = 1;
pub(crate) const MOST_FETCHES: u64 = (1 << 11) - 1;

// Codes of events and what follows.
/// The new program's command line.
pub(crate) const PROGRAM: u64 = 0;
pub(crate) const THREAD_END: u64 = 1;
/// The new process's number.
pub(crate) const FORK: u64 = 2;
/// The number of the process that was not created.
pub(crate) const FORK_FAILED: u64 = 3;
/// Address, length, 1 for a file, 1 if shared.
pub(crate) const MAP: u64 = 4;
/// Address and length.
pub(crate) const UNMAP: u64 = 5;
/// The new end of the heap.
pub(crate) const BREAK: u64 = 6;
/// A text on what could not be recorded.
pub(crate) const MISSED: u64 = 7;

pub(crate) const fn fetches(address: u64, count: u64) -> u64 {
    address << 16 | count << 5 | NO_ACCESS | FETCHES
}

/// The first word of an event.
pub(crate) const fn event(code: u64, bytes: usize) -> u64 {
    (bytes as u64) << 32 | code << 5 | NO_ACCESS | EVENT
}
