//! The traced side of the shared memory: a slot per thread, which survives a killed process.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::launch::Settings;
use crate::wire;

/// QEMU numbers virtual CPUs from 0 and reuses numbers.
const MOST_CPUS: usize = 4096;
const MOST_KEPT: usize = 6;
/// How long a thread waits for room before it checks for the recorder, in s.
const PATIENCE_S: i64 = 1;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the numbers of system calls are those of x86-64 and aarch64");

const SYS_FUTEX: c_long = if cfg!(target_arch = "x86_64") { 202 } else { 98 };
const FUTEX_WAIT: c_int = 0;
const FUTEX_WAKE: c_int = 1;
const SIGKILL: c_int = 9;
const PROTECTION_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;

#[repr(C)]
struct TimeSpec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        len: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        off: i64,
    ) -> *mut c_void;
    fn syscall(number: c_long, ...) -> c_long;
    fn raise(signal: c_int) -> c_int;
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();
/// The recorder's number of this process, initially from the settings.
static PROCESS: AtomicU64 = AtomicU64::new(0);
/// The process id to which [`PROCESS`] belongs.
static PID: AtomicU64 = AtomicU64::new(0);
static SHARED: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

type Head = [AtomicU64; wire::SLOT_RING];
/// The slot of a thread that has not requested one: full at 0.
static NONE: Head = [const { AtomicU64::new(0) }; wire::SLOT_RING];
/// The slot of a thread that got none.
static LOST: Head = [const { AtomicU64::new(0) }; wire::SLOT_RING];

/// Slots of this process by virtual CPU.
static CPUS: [AtomicPtr<AtomicU64>; MOST_CPUS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; MOST_CPUS];

/// Words kept by virtual CPU.
static KEPT: [[AtomicU64; MOST_KEPT]; MOST_CPUS] =
    [const { [const { AtomicU64::new(0) }; MOST_KEPT] }; MOST_CPUS];

fn none() -> *mut AtomicU64 {
    NONE.as_ptr().cast_mut()
}

fn lost() -> *mut AtomicU64 {
    LOST.as_ptr().cast_mut()
}

/// Maps the shared memory. Fails when the recorder is gone or of another version.
pub(crate) fn attach(settings: Settings) -> io::Result<()> {
    let file = File::options().read(true).write(true).open(&settings.channel)?;
    let bytes = wire::ALL_WORDS * size_of::<u64>();
    if file.metadata()?.len() != bytes as u64 {
        return Err(io::Error::other("the shared memory is of another version"));
    }
    // SAFETY: the kernel chooses a free place, and it is never unmapped.
    let start = unsafe {
        mmap(ptr::null_mut(), bytes, PROTECTION_READ_WRITE, MAP_SHARED, file.as_raw_fd(), 0)
    };
    if start as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    SHARED.store(start.cast(), Ordering::Relaxed);
    if header(wire::HEADER_MAGIC).load(Ordering::Relaxed) != wire::MAGIC {
        return Err(io::Error::other("the shared memory is of another version"));
    }
    for cpu in &CPUS {
        cpu.store(none(), Ordering::Relaxed);
    }
    header(wire::HEADER_LOADED).fetch_add(1, Ordering::Relaxed);
    PROCESS.store(settings.process, Ordering::Relaxed);
    PID.store(u64::from(std::process::id()), Ordering::Relaxed);
    SETTINGS.set(settings).map_err(|_| io::Error::other("the plugin was loaded before"))
}

pub(crate) fn settings() -> Option<&'static Settings> {
    SETTINGS.get()
}

pub(crate) fn process() -> u64 {
    PROCESS.load(Ordering::Relaxed)
}

pub(crate) fn header(word: usize) -> &'static AtomicU64 {
    // SAFETY: `attach` has mapped all words forever, page-aligned, and they are only used as
    // atomics.
    unsafe { &*SHARED.load(Ordering::Relaxed).add(word) }
}

/// A word of a slot or its stand-in.
fn word(slot: *mut AtomicU64, index: usize) -> &'static AtomicU64 {
    debug_assert!(index < wire::SLOT_WORDS);
    // SAFETY: slots come from `SHARED`, `NONE` and `LOST`, which live forever and have `SLOT_RING`
    // words. Those of `SHARED` have a ring after them; the others are full, so it is not accessed.
    unsafe { &*slot.add(index) }
}

/// Appends a word to the ring of a thread.
#[inline(always)]
pub(crate) fn push(cpu: c_uint, value: u64) {
    let Some(place) = CPUS.get(cpu as usize) else { return };
    let slot = place.load(Ordering::Relaxed);
    let cursor = word(slot, wire::SLOT_CURSOR).load(Ordering::Relaxed);
    if cursor >= word(slot, wire::SLOT_LIMIT).load(Ordering::Relaxed) {
        return push_where_none_was(cpu, value);
    }
    put(slot, cursor, value);
}

#[inline(always)]
fn put(slot: *mut AtomicU64, cursor: u64, value: u64) {
    let index = wire::SLOT_RING + (cursor as usize & (wire::RING_WORDS - 1));
    word(slot, index).store(value, Ordering::Relaxed);
    word(slot, wire::SLOT_CURSOR).store(cursor + 1, Ordering::Release);
}

/// Appends a word at the end of a chunk, and for a thread without a slot.
#[cold]
#[inline(never)]
fn push_where_none_was(cpu: c_uint, value: u64) {
    let slot = slot_of(cpu);
    if slot == lost() || is_muted() {
        CPUS[cpu as usize].store(lost(), Ordering::Relaxed);
        return;
    }
    let cursor = word(slot, wire::SLOT_CURSOR).load(Ordering::Relaxed);
    let mut tail = word(slot, wire::SLOT_TAIL).load(Ordering::Acquire);
    // Waking costs both sides more than occasional polling by the recorder.
    if cursor - tail >= wire::RING_WORDS as u64 / 2 {
        ring_doorbell();
    }
    while cursor - tail >= wire::RING_WORDS as u64 {
        wait_for_room(slot, tail);
        tail = word(slot, wire::SLOT_TAIL).load(Ordering::Acquire);
    }
    let next_chunk = (cursor / wire::CHUNK_WORDS + 1) * wire::CHUNK_WORDS;
    let limit = next_chunk.min(tail + wire::RING_WORDS as u64);
    word(slot, wire::SLOT_LIMIT).store(limit, Ordering::Relaxed);
    put(slot, cursor, value);
}

/// Whether the recorder wants nothing more. Callbacks stay registered: `qemu_plugin_reset` frees
/// what QEMU before 8.0 still uses in the middle of instructions such as `rep movs`.
pub(crate) fn is_muted() -> bool {
    header(wire::HEADER_STOP).load(Ordering::Relaxed) != 0
}

/// The slot of a thread, taken if needed.
fn slot_of(cpu: c_uint) -> *mut AtomicU64 {
    let Some(place) = CPUS.get(cpu as usize) else { return lost() };
    let slot = place.load(Ordering::Relaxed);
    if slot != none() {
        return slot;
    }
    let slot = take_slot().unwrap_or_else(|| {
        header(wire::HEADER_LOST_THREADS).fetch_add(1, Ordering::Relaxed);
        lost()
    });
    place.store(slot, Ordering::Relaxed);
    slot
}

fn take_slot() -> Option<*mut AtomicU64> {
    let settings = settings()?;
    let shared = SHARED.load(Ordering::Relaxed);
    for index in 0..wire::SLOTS {
        // SAFETY: the mapping holds `SLOTS` slots after its header.
        let slot = unsafe { shared.add(wire::HEADER_WORDS + index * wire::SLOT_WORDS) };
        let state = word(slot, wire::SLOT_STATE);
        let taken =
            state.compare_exchange(wire::FREE, wire::TAKEN, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_err() {
            continue;
        }
        let set = |index, value| word(slot, index).store(value, Ordering::Relaxed);
        set(wire::SLOT_PID, PID.load(Ordering::Relaxed));
        set(wire::SLOT_PROCESS, process());
        set(wire::SLOT_IMAGE, settings.image);
        set(wire::SLOT_CLAIM, header(wire::HEADER_CLAIMS).fetch_add(1, Ordering::AcqRel));
        for index in [wire::SLOT_CURSOR, wire::SLOT_LIMIT, wire::SLOT_TAIL, wire::SLOT_WAITING] {
            set(index, 0);
        }
        state.store(wire::LIVE, Ordering::Release);
        return Some(slot);
    }
    None
}

pub(crate) fn end(cpu: c_uint) {
    let slot = slot_of(cpu);
    if let Some(place) = CPUS.get(cpu as usize).filter(|_| slot != lost()) {
        place.store(none(), Ordering::Relaxed);
        word(slot, wire::SLOT_STATE).store(wire::ENDED, Ordering::Release);
        ring_doorbell();
    }
}

/// Initializes a forked child, a new process with one thread, before its first reference.
pub(crate) fn become_child(process: u64, cpu: c_uint) {
    PROCESS.store(process, Ordering::Relaxed);
    PID.store(u64::from(std::process::id()), Ordering::Relaxed);
    for cpu in &CPUS {
        cpu.store(none(), Ordering::Relaxed);
    }
    slot_of(cpu);
}

pub(crate) fn push_event(cpu: c_uint, code: u64, bytes: &[u8]) {
    push(cpu, wire::event(code, bytes.len()));
    for piece in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..piece.len()].copy_from_slice(piece);
        push(cpu, u64::from_le_bytes(word));
    }
}

pub(crate) fn push_numbers(cpu: c_uint, code: u64, numbers: &[u64]) {
    push(cpu, wire::event(code, size_of_val(numbers)));
    for number in numbers {
        push(cpu, *number);
    }
}

/// Keeps words until a system call returns; not shared, as a child would find its parent's.
pub(crate) fn keep<const N: usize>(cpu: c_uint, numbers: [u64; N]) {
    let kept = KEPT.get(cpu as usize).into_iter().flatten();
    kept.zip(numbers).for_each(|(word, number)| word.store(number, Ordering::Relaxed));
}

pub(crate) fn kept<const N: usize>(cpu: c_uint) -> [u64; N] {
    let kept = KEPT.get(cpu as usize);
    std::array::from_fn(|index| {
        kept.and_then(|kept| kept.get(index)).map_or(0, |word| word.load(Ordering::Relaxed))
    })
}

fn ring_doorbell() {
    let bell = header(wire::HEADER_DOORBELL);
    bell.fetch_add(1, Ordering::SeqCst);
    if header(wire::HEADER_SLEEPING).load(Ordering::SeqCst) != 0 {
        futex(bell, FUTEX_WAKE, 1);
    }
}

/// Sleeps until the recorder has read on; without a recorder the process ends.
fn wait_for_room(slot: *mut AtomicU64, tail: u64) {
    word(slot, wire::SLOT_WAITING).store(1, Ordering::SeqCst);
    let place = word(slot, wire::SLOT_TAIL);
    if place.load(Ordering::SeqCst) != tail {
        return;
    }
    futex(place, FUTEX_WAIT, tail as u32);
    let is_there = |settings: &Settings| std::fs::exists(&settings.channel).is_ok_and(|is| is);
    let is_alone = !settings().is_some_and(is_there);
    if place.load(Ordering::Acquire) == tail && is_alone {
        // SAFETY: takes an integer.
        unsafe { raise(SIGKILL) };
    }
}

/// Waits (with a limit) or wakes at the low half of a word.
fn futex(place: &AtomicU64, operation: c_int, value: u32) {
    let half = usize::from(cfg!(target_endian = "big"));
    let limit = TimeSpec { seconds: PATIENCE_S, nanoseconds: 0 };
    // SAFETY: the word lives forever and the limit outlives the call; callers check again.
    unsafe {
        let place = place.as_ptr().cast::<u32>().add(half);
        syscall(SYS_FUTEX, place, operation, value, &raw const limit);
    }
}
