//! A file mapped as words that other processes map too, and that all may change at any time.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use rustix::thread::futex;
use rustix::time::Timespec;

use crate::memory::Mapping;

/// A mapped file as words, unmapped when dropped.
#[derive(Debug)]
pub struct SharedWords {
    mapping: Mapping,
    count: usize,
}

impl SharedWords {
    /// Maps the first `count` words of a file. Fails for a shorter file, or if `count` is 0.
    pub fn map(file: &File, count: usize) -> io::Result<Self> {
        let mapping = Mapping::file_shared(file, count * size_of::<AtomicU64>())?;
        Ok(Self { mapping, count })
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds `count` words from its page-aligned start and lives as long as
        // `self`; atomics may have any value and change at any time.
        unsafe { std::slice::from_raw_parts(self.mapping.start().as_ptr().cast(), self.count) }
    }
}

/// Sleeps until a process calls [`wake`] for the word, for at most `limit`; may return early.
/// Returns at once if the word's low half is not `expected`.
pub fn wait(word: &AtomicU64, expected: u32, limit: Duration) {
    let limit = Timespec::try_from(limit).ok();
    let _ = futex::wait(low_half(word), futex::Flags::empty(), expected, limit.as_ref());
}

/// Wakes one that sleeps at a word.
pub fn wake(word: &AtomicU64) {
    let _ = futex::wake(low_half(word), futex::Flags::empty(), 1);
}

/// The kernel compares the low 32 bits.
fn low_half(word: &AtomicU64) -> &AtomicU32 {
    let half = word.as_ptr().cast::<u32>().wrapping_add(usize::from(cfg!(target_endian = "big")));
    // SAFETY: an aligned half of a live word, which only the kernel reads, at once.
    unsafe { AtomicU32::from_ptr(half) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::Ordering;

    #[test]
    fn who_has_the_file_sees_the_words() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let words = SharedWords::map(&file, 1024).unwrap();
        words.words()[1023].store(7, Ordering::Relaxed);
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 1023 * 8).unwrap();
        assert_eq!(u64::from_ne_bytes(bytes), 7);
        file.write_all_at(&9_u64.to_ne_bytes(), 8).unwrap();
        assert_eq!(words.words()[1].load(Ordering::Relaxed), 9);
        assert!(SharedWords::map(&file, 1025).is_err(), "it is not that long");
    }

    #[test]
    fn a_sleeper_is_woken_and_one_who_comes_late_does_not_sleep() {
        let word = AtomicU64::new(5 << 32 | 1);
        let long = Duration::from_secs(100);
        wait(&word, 0, long);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Ordering::Relaxed) == 5 << 32 | 1 {
                    wait(&word, 1, long);
                }
            });
            std::thread::sleep(Duration::from_millis(20));
            word.store(2, Ordering::Relaxed);
            wake(&word);
        });
        let start = std::time::Instant::now();
        wait(&word, 2, Duration::from_millis(5));
        assert!(start.elapsed() < long);
    }
}
