//! The memory that the plugin and the recorder share, and the words that go through it.
//!
//! A header, then slots. A slot is of one thread of a traced process: a ring of words that the
//! thread writes and the recorder reads. The file also belongs to the crate `tracer`, which takes
//! it in by its path: the plugin is a program of its own and depends on nothing.

/// First word of the header: what the memory is, and in which version.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"tlring\0\x01");

// Words of the header.
pub(crate) const HEADER_MAGIC: usize = 0;
pub(crate) const HEADER_NEXT_PROCESS: usize = 1;
/// How many slots have been taken so far.
pub(crate) const HEADER_CLAIMS: usize = 2;
/// Not 0 when nothing more is wanted.
pub(crate) const HEADER_STOP: usize = 3;
/// Threads that found no slot and are not recorded.
pub(crate) const HEADER_LOST_THREADS: usize = 4;
/// How many processes have loaded the plugin.
pub(crate) const HEADER_LOADED: usize = 5;
/// A futex in its low half: changes when there is something to read.
pub(crate) const HEADER_DOORBELL: usize = 8;
/// Not 0 while the recorder sleeps.
pub(crate) const HEADER_SLEEPING: usize = 16;
/// A page.
pub(crate) const HEADER_WORDS: usize = 512;

/// Slots, which is how many threads can be traced at a time.
pub(crate) const SLOTS: usize = 1024;
/// Words of a ring; a power of 2.
pub(crate) const RING_WORDS: usize = 1 << 16;
/// How many words a thread writes before it tells the recorder.
pub(crate) const CHUNK_WORDS: u64 = 1 << 12;

// Words of a slot.
pub(crate) const SLOT_STATE: usize = 0;
/// The system's number of the process.
pub(crate) const SLOT_PID: usize = 1;
pub(crate) const SLOT_PROCESS: usize = 2;
pub(crate) const SLOT_IMAGE: usize = 3;
/// The value of [`HEADER_CLAIMS`] when it was taken.
pub(crate) const SLOT_CLAIM: usize = 4;
/// How many words were ever written. Only its thread writes it, and the next.
pub(crate) const SLOT_CURSOR: usize = 16;
/// At which cursor the thread has to look up.
pub(crate) const SLOT_LIMIT: usize = 17;
/// A futex in its low half: how many words were ever read.
pub(crate) const SLOT_TAIL: usize = 32;
/// Not 0 while its thread waits for room.
pub(crate) const SLOT_WAITING: usize = 48;
/// Where its ring begins: a page.
pub(crate) const SLOT_RING: usize = 512;
pub(crate) const SLOT_WORDS: usize = SLOT_RING + RING_WORDS;
pub(crate) const ALL_WORDS: usize = HEADER_WORDS + SLOTS * SLOT_WORDS;

// States of a slot: nobody's, being taken, written by a thread, after its thread's last word.
pub(crate) const FREE: u64 = 0;
pub(crate) const TAKEN: u64 = 1;
pub(crate) const LIVE: u64 = 2;
pub(crate) const ENDED: u64 = 3;

// A word is a reference in the bits of `trace::Reference`: address from bit 5, access in bits 3
// and 4, logarithm of the size below. The access 3 is none; such a word is one of the following.
pub(crate) const FETCH: u64 = 2 << 3;
pub(crate) const NO_ACCESS: u64 = 3 << 3;
/// Kind of a word without access: instructions fetched from one page. Bits 16..=63 are the address
/// of the first, 5..=15 how many.
pub(crate) const FETCHES: u64 = 0;
/// Kind of a word without access: an event. Bits 32..=63 say how many bytes follow in words of
/// their own, 5..=31 are its code.
pub(crate) const EVENT: u64 = 1;
/// Most instructions in a word of fetches.
pub(crate) const MOST_FETCHES: u64 = (1 << 11) - 1;

// Codes of events, and what follows.
/// The program that runs from here on: its command line.
pub(crate) const PROGRAM: u64 = 0;
pub(crate) const THREAD_END: u64 = 1;
/// A process is being made: its number.
pub(crate) const FORK: u64 = 2;
/// The process that was being made was not: its number.
pub(crate) const FORK_FAILED: u64 = 3;
/// Address, length, 1 if of a file, 1 if shared.
pub(crate) const MAP: u64 = 4;
/// Address and length.
pub(crate) const UNMAP: u64 = 5;
/// The new end of the heap.
pub(crate) const BREAK: u64 = 6;
/// What could not be recorded: a text.
pub(crate) const MISSED: u64 = 7;

pub(crate) const fn fetches(address: u64, count: u64) -> u64 {
    address << 16 | count << 5 | NO_ACCESS | FETCHES
}

/// The word that an event begins with.
pub(crate) const fn event(code: u64, bytes: usize) -> u64 {
    (bytes as u64) << 32 | code << 5 | NO_ACCESS | EVENT
}
