//! The recorder's side of the memory that it shares with the plugin.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use sys::shared_words::{SharedWords, wait, wake};

use crate::wire;

/// The plugin that `build.rs` built.
static PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/trace_plugin.so"));
/// Longest sleep, and so the delay of noticing the end of a process.
const SLEEP: Duration = Duration::from_millis(10);

/// Plugin and shared memory, both in files without a name.
pub(crate) struct Shared {
    plugin: File,
    file: File,
    words: SharedWords,
}

impl Shared {
    pub(crate) fn new() -> io::Result<Self> {
        let mut plugin = File::from(memfd_create("thrashlab-plugin", MemfdFlags::CLOEXEC)?);
        plugin.write_all(PLUGIN)?;
        let file = File::from(memfd_create("thrashlab-trace", MemfdFlags::CLOEXEC)?);
        file.set_len((wire::ALL_WORDS * size_of::<u64>()) as u64)?;
        let words = SharedWords::map(&file, wire::ALL_WORDS)?;
        words.words()[wire::HEADER_MAGIC].store(wire::MAGIC, Ordering::Relaxed);
        Ok(Self { plugin, file, words })
    }

    /// Paths of plugin and memory for other processes of this user.
    pub(crate) fn paths(&self) -> (String, String) {
        let path = |file: &File| format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        (path(&self.plugin), path(&self.file))
    }

    pub(crate) fn header(&self, word: usize) -> &AtomicU64 {
        &self.words.words()[word]
    }

    pub(crate) fn slot(&self, index: usize) -> &[AtomicU64] {
        &self.words.words()[wire::HEADER_WORDS + index * wire::SLOT_WORDS..][..wire::SLOT_WORDS]
    }

    pub(crate) fn forget_ring(&self, index: usize) {
        let first = wire::HEADER_WORDS + index * wire::SLOT_WORDS + wire::SLOT_RING;
        let bytes = |words: usize| (words * size_of::<u64>()) as u64;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = fallocate(&self.file, flags, bytes(first), bytes(wire::RING_WORDS));
    }

    /// The low bits of the number of rings.
    pub(crate) fn rings(&self) -> u32 {
        self.header(wire::HEADER_DOORBELL).load(Ordering::SeqCst) as u32
    }

    /// Sleeps briefly, until the doorbell is rung after `rings`.
    pub(crate) fn sleep(&self, rings: u32) {
        self.header(wire::HEADER_SLEEPING).store(1, Ordering::SeqCst);
        if self.rings() == rings {
            wait(self.header(wire::HEADER_DOORBELL), rings, SLEEP);
        }
        self.header(wire::HEADER_SLEEPING).store(0, Ordering::SeqCst);
    }
}

/// Frees a ring up to `tail`, and wakes its thread if it waits for room.
pub(crate) fn set_tail(slot: &[AtomicU64], tail: u64) {
    slot[wire::SLOT_TAIL].store(tail, Ordering::SeqCst);
    if slot[wire::SLOT_WAITING].swap(0, Ordering::SeqCst) != 0 {
        wake(&slot[wire::SLOT_TAIL]);
    }
}
