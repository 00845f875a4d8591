//! Mechanisms of memory: faults, mappings, swap, compaction.

use std::fs;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sys::memory::{Advice, Mapping};
use sys::process::{fork_child, usable_cpus, usage, wait};

use crate::files::{PAGE_BYTES, Scratch};
use crate::processes::{per_one, timed};

/// What `mprotect` and `shootdown` change, in pages: 1 MiB and 64 KiB.
const PROTECTED_PAGES: u32 = 256;
const SHOT_DOWN_PAGES: u32 = 16;
/// What is taken of the memory at a time, in pages: 256 KiB.
const PRESSURE_PAGES: u32 = 64;
/// Most pages that are read from swap at a time (`vm.page-cluster`).
const MOST_TOGETHER: u64 = 8;
const MEMINFO: &str = "/proc/meminfo";

/// Fresh memory of some pages that is never huge.
fn pages(count: u32) -> io::Result<Mapping> {
    let mapping = Mapping::anonymous(count as usize * PAGE_BYTES)?;
    // A kernel without huge pages refuses the advice.
    let _ = mapping.advise(Advice::Small);
    Ok(mapping)
}

/// As [`pages`], each with content that compresses to nothing like it, so that swap stores it whole.
fn filled(count: u32) -> io::Result<Mapping> {
    let mapping = pages(count)?;
    let mut state = 1_u64;
    mapping.fill(|| {
        // Xorshift (Marsaglia 2003): every word differs.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    });
    Ok(mapping)
}

/// Touches of fresh pages, one after the other.
pub(crate) fn fault(count: u32) -> io::Result<f64> {
    let mapping = pages(count)?;
    let begun = Instant::now();
    mapping.touch(PAGE_BYTES, 1);
    Ok(per_one(begun, count))
}

/// Writes to pages that a child has as well, which waits meanwhile.
pub(crate) fn copy_on_write(count: u32) -> io::Result<f64> {
    let mapping = pages(count)?;
    mapping.touch(PAGE_BYTES, 1);
    let (mut at_child, mut to_child) = io::pipe()?;
    let (mut at_parent, mut to_parent) = io::pipe()?;
    let child = fork_child(|| {
        let is_ready = to_parent.write_all(&[0]).is_ok();
        i32::from(!is_ready || at_child.read_exact(&mut [0]).is_err())
    })?;
    at_parent.read_exact(&mut [0])?;
    let begun = Instant::now();
    mapping.touch(PAGE_BYTES, 2);
    let cost_ns = per_one(begun, count);
    to_child.write_all(&[0])?;
    wait(child, true)?;
    Ok(cost_ns)
}

/// Reads of a mapped file that is in memory; the kernel may map neighbours with each page.
pub(crate) fn file_fault(count: u32) -> io::Result<f64> {
    let scratch = Scratch::of_pages(count)?;
    let mapping = Mapping::file_read_only(&scratch.file, count as usize * PAGE_BYTES)?;
    let begun = Instant::now();
    read_pages(&mapping, count);
    Ok(per_one(begun, count))
}

/// Address space that nobody touches.
pub(crate) fn map(count: u32) -> io::Result<f64> {
    timed(count, || Mapping::anonymous(4 * PAGE_BYTES).map(drop))
}

/// The pages of a mapping are given back, all at once.
pub(crate) fn unmap(count: u32) -> io::Result<f64> {
    let mapping = pages(count)?;
    mapping.touch(PAGE_BYTES, 1);
    let begun = Instant::now();
    drop(mapping);
    Ok(per_one(begun, count))
}

/// Two changes of protection.
pub(crate) fn protect(count: u32) -> io::Result<f64> {
    let mapping = pages(PROTECTED_PAGES)?;
    mapping.touch(PAGE_BYTES, 1);
    timed(count, || {
        mapping.protect(0..mapping.size_bytes(), false)?;
        mapping.protect(0..mapping.size_bytes(), true)
    })
}

/// Two changes of protection while another thread of this process runs on another CPU, which the
/// kernel has to interrupt.
pub(crate) fn shoot_down(count: u32) -> io::Result<f64> {
    if usable_cpus() < 2 {
        return Err(io::Error::other("there is one CPU, and it takes two"));
    }
    let mapping = pages(SHOT_DOWN_PAGES)?;
    let (is_running, is_done) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                is_running.store(true, Ordering::Relaxed);
                std::hint::spin_loop();
            }
        });
        while !is_running.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let cost_ns = timed(count, || {
            mapping.touch(PAGE_BYTES, 1);
            mapping.protect(0..mapping.size_bytes(), false)?;
            mapping.protect(0..mapping.size_bytes(), true)
        });
        is_done.store(true, Ordering::Relaxed);
        cost_ns
    })
}

/// Pages that the kernel is asked to reclaim: it unmaps them and begins to write them to swap.
pub(crate) fn swap_out(count: u32) -> io::Result<f64> {
    let mapping = filled(count)?;
    let begun = Instant::now();
    mapping.page_out()?;
    let cost_ns = per_one(begun, count);
    was_swapped_out()?;
    Ok(cost_ns)
}

/// Touches of pages that are in swap, and no longer in memory: what was swapped out stays there until
/// the memory is needed, so memory is taken until it is.
pub(crate) fn swap_in(count: u32) -> io::Result<f64> {
    let mapping = filled(count)?;
    mapping.page_out()?;
    was_swapped_out()?;
    while kib(MEMINFO, "Writeback:")? > 0 {
        thread::sleep(Duration::from_millis(10));
    }
    let kept_kib = u64::from(count) * PAGE_BYTES as u64 / 1024 / 8;
    let available_pages = kib(MEMINFO, "MemAvailable:")? / 4;
    let mut pressure = Vec::new();
    for _ in 0..=2 * available_pages / u64::from(PRESSURE_PAGES) {
        if kib(MEMINFO, "SwapCached:")? <= kept_kib {
            break;
        }
        let more = pages(PRESSURE_PAGES)?;
        more.touch(PAGE_BYTES, 1);
        pressure.push(more);
    }
    drop(pressure);
    returned(&mapping, count)
}

/// Touches of pages of a file that were evicted although they are mapped, as a program's text is. The
/// file is read without read-ahead.
pub(crate) fn refault(count: u32) -> io::Result<f64> {
    let scratch = Scratch::of_pages(count)?;
    scratch.file.sync_all()?;
    let mapping = Mapping::file_read_only(&scratch.file, count as usize * PAGE_BYTES)?;
    mapping.advise(Advice::Random)?;
    read_pages(&mapping, count);
    mapping.page_out()?;
    returned(&mapping, count)
}

/// The time of a touch of pages that are on disk.
fn returned(mapping: &Mapping, count: u32) -> io::Result<f64> {
    let before = usage();
    let begun = Instant::now();
    read_pages(mapping, count);
    let cost_ns = per_one(begun, count);
    let read = usage().since(&before).major_faults();
    // Each brings neighbours.
    match read.saturating_mul(MOST_TOGETHER) < u64::from(count) / 2 {
        true => Err(io::Error::other(format!("only {read} of {count} pages were on disk"))),
        false => Ok(cost_ns),
    }
}

/// Fails unless pages of this process are in swap: without swap, a full memory would end it.
fn was_swapped_out() -> io::Result<()> {
    match kib("/proc/self/status", "VmSwap:")? {
        0 => Err(io::Error::other("the kernel swapped nothing out (is there swap?)")),
        _ => Ok(()),
    }
}

/// A line of a table of the kernel's, in KiB.
fn kib(path: &str, name: &str) -> io::Result<u64> {
    let text = fs::read_to_string(path)?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
    let missing = || io::Error::other(format!("{path} has no {name}"));
    value.and_then(|text| text.parse().ok()).ok_or_else(missing)
}

fn read_pages(mapping: &Mapping, count: u32) {
    for page in 0..count as usize {
        std::hint::black_box(mapping.read(page * PAGE_BYTES));
    }
}

/// Compaction of all memory, of which half of 16 MiB was given back, every second page.
pub(crate) fn compact(count: u32) -> io::Result<f64> {
    const COMPACT: &str = "/proc/sys/vm/compact_memory";
    let mapping = pages(4096)?;
    mapping.touch(PAGE_BYTES, 1);
    for page in (0..mapping.size_bytes() / PAGE_BYTES).step_by(2) {
        mapping.give_back(page * PAGE_BYTES..(page + 1) * PAGE_BYTES)?;
    }
    timed(count, || fs::write(COMPACT, "1").map_err(|error| named(COMPACT, &error)))
}

fn named(path: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{path}: {error}"))
}
