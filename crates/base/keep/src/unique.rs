//! Unique names and keys.

use std::path::{Path, PathBuf};

use sys::clock::realtime_ns;
use sys::sysv::{MessageQueue, SharedSegment};

/// A text that no other process of this machine has generated or will generate.
pub fn token() -> String {
    format!("{}-{}", realtime_ns(), std::process::id())
}

/// An unused path in a folder, which may be shared by containers with equal process numbers.
pub fn free_path(folder: &Path, name: &str) -> PathBuf {
    let mut path = folder.join(name);
    let mut number = 1;
    while path.symlink_metadata().is_ok() {
        path = folder.join(format!("{name}.{number}"));
        number += 1;
    }
    path
}

/// A key under which neither a SysV message queue nor a shared memory segment exists.
pub fn free_key() -> i32 {
    let mut key = (realtime_ns() ^ u64::from(std::process::id()) << 20) as u32;
    loop {
        // 0 means a queue without a key; negative keys are hard to read.
        key = key.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let candidate = (key & 0x7fff_ffff).max(1) as i32;
        if MessageQueue::open(candidate).is_err() && SharedSegment::open(candidate).is_err() {
            return candidate;
        }
    }
}
