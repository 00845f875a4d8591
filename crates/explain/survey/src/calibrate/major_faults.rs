//! Faults that wait for a device, as counted by the kernel.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice as FileAdvice, fadvise};
use sys::clock::monotonic_ns;
use sys::memory::{Advice, Mapping};
use sys::process::usage;

use super::{Measured, cost, page_bytes, refused, small_pages};

/// Size of the file, and of the memory that is swapped out, in bytes.
const SIZE_BYTES: usize = 4 << 20;
/// Longest time for all faults of a kind, in ns.
const LONGEST_NS: u64 = 250_000_000;
const MOST: usize = 256;
/// Distance of touched pages: odd, to reach all of them, and large, to defeat read-ahead.
const STEP_PAGES: usize = 389;

/// Reading a file page again, in the first directory that allows it: one may be read-only, or in memory.
pub(super) fn file_refault(work_dirs: &[PathBuf]) -> Measured {
    if work_dirs.is_empty() {
        return Err("no file may be written".to_owned());
    }
    let mut reasons = Vec::new();
    for work_dir in work_dirs {
        let path = work_dir.join(format!("thrashlab-calibration-{}.dat", std::process::id()));
        let mapping = uncached(&path).map_err(refused(&format!("create {}", path.display())));
        match mapping.and_then(|mapping| major(&mapping)) {
            Ok(cost) => return Ok(cost),
            Err(why) => reasons.push(format!("{why} (the file is in {})", work_dir.display())),
        }
    }
    Err(format!("{}; --work-dir DIR names a directory on a disk", reasons.join("; ")))
}

/// A mapping of a file that is not in the page cache.
fn uncached(path: &Path) -> std::io::Result<Mapping> {
    let mut file: File = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    // An unlinked file ends with this process.
    fs::remove_file(path)?;
    file.write_all(&vec![0x5a; SIZE_BYTES])?;
    file.sync_all()?;
    fadvise(&file, 0, None, FileAdvice::DontNeed)?;
    let mapping = Mapping::file_read_only(&file, SIZE_BYTES)?;
    mapping.advise(Advice::Random)?;
    Ok(mapping)
}

/// Reading a page from the swap device.
pub(super) fn swap_in() -> Measured {
    let swaps = fs::read_to_string("/proc/swaps").map_err(refused("read /proc/swaps"))?;
    if swaps.lines().count() < 2 {
        return Err("this machine has no swap (/proc/swaps)".to_owned());
    }
    let mapping = small_pages(SIZE_BYTES)?;
    mapping.touch(page_bytes(), 1);
    mapping.page_out().map_err(refused("swap memory out (MADV_PAGEOUT)"))?;
    major(&mapping)
}

/// The cost of the touches that were major faults.
fn major(mapping: &Mapping) -> Measured {
    let pages = mapping.size_bytes() / page_bytes();
    let until_ns = monotonic_ns() + LONGEST_NS;
    let mut each = Vec::new();
    let mut before = usage().major_faults();
    for step in 0..pages.min(MOST) {
        let start_ns = monotonic_ns();
        std::hint::black_box(mapping.read(step * STEP_PAGES % pages * page_bytes()));
        let end_ns = monotonic_ns();
        let after = usage().major_faults();
        if after == before + 1 {
            each.push((end_ns - start_ns) as f64);
        }
        before = after;
        if end_ns > until_ns {
            break;
        }
    }
    cost(each).map_err(|_| "no page had to be read: they stayed in memory".to_owned())
}
