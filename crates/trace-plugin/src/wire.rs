//! The memory that the plugin and the recorder share, and the words that go through it.
//!
//! A header, then slots. A slot is of one thread of a traced process: a ring of words that the
//! thread writes and the recorder reads. The file also belongs to the crate `tracer`, which takes
//! it in by its path: the plugin is a program of its own and depends on nothing.

/// First word of the header: what the memory is, and in which version.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"tlring\0\x01");

/// Word of the header: [`MAGIC`].
pub(crate) const HEADER_MAGIC: usize = 0;
/// Word of the header: the number of the next process.
pub(crate) const HEADER_NEXT_PROCESS: usize = 1;
/// Word of the header: how many slots have been taken so far.
pub(crate) const HEADER_CLAIMS: usize = 2;
/// Word of the header: not 0 when nothing more is wanted.
pub(crate) const HEADER_STOP: usize = 3;
/// Word of the header: threads that found no slot and are not recorded.
pub(crate) const HEADER_LOST_THREADS: usize = 4;
/// Word of the header: how many processes have loaded the plugin.
pub(crate) const HEADER_LOADED: usize = 5;
/// Word of the header, a futex in its low half: changes when there is something to read.
pub(crate) const HEADER_DOORBELL: usize = 8;
/// Word of the header: not 0 while the recorder sleeps.
pub(crate) const HEADER_SLEEPING: usize = 16;
/// Words of the header: a page.
pub(crate) const HEADER_WORDS: usize = 512;

/// Slots, which is how many threads can be traced at a time.
pub(crate) const SLOTS: usize = 1024;
/// Words of a ring; a power of 2.
pub(crate) const RING_WORDS: usize = 1 << 16;
/// How many words a thread writes before it tells the recorder.
pub(crate) const CHUNK_WORDS: u64 = 1 << 12;

/// Word of a slot: one of the states.
pub(crate) const SLOT_STATE: usize = 0;
/// Word of a slot: the system's number of the process.
pub(crate) const SLOT_PID: usize = 1;
/// Word of a slot: the number of the process.
pub(crate) const SLOT_PROCESS: usize = 2;
/// Word of a slot: how many programs the process has been before this one.
pub(crate) const SLOT_IMAGE: usize = 3;
/// Word of a slot: the value of [`HEADER_CLAIMS`] when it was taken.
pub(crate) const SLOT_CLAIM: usize = 4;
/// Word of a slot: how many words were ever written. Only its thread writes it, and the next.
pub(crate) const SLOT_CURSOR: usize = 16;
/// Word of a slot: at which cursor the thread has to look up.
pub(crate) const SLOT_LIMIT: usize = 17;
/// Word of a slot, a futex in its low half: how many words were ever read.
pub(crate) const SLOT_TAIL: usize = 32;
/// Word of a slot: not 0 while its thread waits for room.
pub(crate) const SLOT_WAITING: usize = 48;
/// Where in a slot its ring begins: a page.
pub(crate) const SLOT_RING: usize = 512;
/// Words of a slot.
pub(crate) const SLOT_WORDS: usize = SLOT_RING + RING_WORDS;
/// All words.
pub(crate) const ALL_WORDS: usize = HEADER_WORDS + SLOTS * SLOT_WORDS;

/// State of a slot: nobody's.
pub(crate) const FREE: u64 = 0;
/// State of a slot: being taken.
pub(crate) const TAKEN: u64 = 1;
/// State of a slot: a thread writes it.
pub(crate) const LIVE: u64 = 2;
/// State of a slot: its thread has written its last word.
pub(crate) const ENDED: u64 = 3;

// A word is a reference in the bits of `trace::Reference`: address from bit 5, access in bits 3
// and 4, logarithm of the size below. The access 3 is none; such a word is one of the following.

/// The two bits of a fetch.
pub(crate) const FETCH: u64 = 2 << 3;
/// The two bits of an access that is none.
pub(crate) const NO_ACCESS: u64 = 3 << 3;
/// Kind of a word without access: instructions fetched from one page. Bits 16..=63 are the address
/// of the first, 5..=15 how many.
pub(crate) const FETCHES: u64 = 0;
/// Kind of a word without access: an event. Bits 32..=63 say how many bytes follow in words of
/// their own, 5..=31 are its code.
pub(crate) const EVENT: u64 = 1;
/// Most instructions in a word of fetches.
pub(crate) const MOST_FETCHES: u64 = (1 << 11) - 1;

/// Event: the program that runs from here on; its command line follows.
pub(crate) const PROGRAM: u64 = 0;
/// Event: the thread ended.
pub(crate) const THREAD_END: u64 = 1;
/// Event: a process is being made; its number follows.
pub(crate) const FORK: u64 = 2;
/// Event: the process that was being made was not; its number follows.
pub(crate) const FORK_FAILED: u64 = 3;
/// Event: memory was mapped; address, length, 1 if of a file, 1 if shared.
pub(crate) const MAP: u64 = 4;
/// Event: memory was unmapped; address and length.
pub(crate) const UNMAP: u64 = 5;
/// Event: the end of the heap; the address.
pub(crate) const BREAK: u64 = 6;
/// Event: what could not be recorded; a text.
pub(crate) const MISSED: u64 = 7;

/// A word of fetches.
#[must_use]
pub(crate) const fn fetches(address: u64, count: u64) -> u64 {
    address << 16 | count << 5 | NO_ACCESS | FETCHES
}

/// The word that an event begins with.
#[must_use]
pub(crate) const fn event(code: u64, bytes: usize) -> u64 {
    (bytes as u64) << 32 | code << 5 | NO_ACCESS | EVENT
}
