//! The kernel's bitmap of pages in memory that nobody has touched since they were marked.
//!
//! Follows `Documentation/admin-guide/mm/idle_page_tracking.rst`. Needs root and a kernel with
//! `CONFIG_IDLE_PAGE_TRACKING`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Pages of one word of the bitmap, which is read and written in whole words.
const WORD_PAGES: u64 = 64;
/// Bytes of a word.
const WORD_BYTES: u64 = 8;

/// Pages that were marked as idle.
pub(crate) struct IdlePages {
    bitmap: File,
    marked: BTreeMap<u64, u64>,
}

impl IdlePages {
    /// Opens the bitmap and marks pages by their numbers in memory.
    ///
    /// # Errors
    /// When there is no bitmap, or the kernel refuses.
    pub(crate) fn mark(path: &Path, numbers: &BTreeSet<u64>) -> io::Result<Self> {
        let bitmap = File::options().read(true).write(true).open(path)?;
        let mut marked: BTreeMap<u64, u64> = BTreeMap::new();
        for number in numbers {
            *marked.entry(number / WORD_PAGES).or_default() |= 1 << (number % WORD_PAGES);
        }
        for (word, bits) in &marked {
            bitmap.write_all_at(&bits.to_ne_bytes(), word * WORD_BYTES)?;
        }
        Ok(Self { bitmap, marked })
    }

    /// The pages that were marked and have not been touched since.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn still_idle(&self) -> io::Result<Untouched> {
        let mut words = BTreeMap::new();
        for (word, bits) in &self.marked {
            let mut bytes = [0; WORD_BYTES as usize];
            self.bitmap.read_exact_at(&mut bytes, word * WORD_BYTES)?;
            words.insert(*word, u64::from_ne_bytes(bytes) & bits);
        }
        Ok(Untouched { words })
    }
}

/// Pages that nobody has touched.
#[derive(Default)]
pub(crate) struct Untouched {
    words: BTreeMap<u64, u64>,
}

impl Untouched {
    /// Whether the page of this number in memory is one of them.
    pub(crate) fn contains(&self, number: u64) -> bool {
        let bits = self.words.get(&(number / WORD_PAGES)).copied().unwrap_or(0);
        bits >> (number % WORD_PAGES) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_marked_pages_that_stay_so_are_untouched() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), [0; 32]).unwrap();
        let marked = IdlePages::mark(file.path(), &BTreeSet::from([1, 65, 66])).unwrap();
        assert_eq!(
            fs::read(file.path()).unwrap()[..16],
            [2, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]
        );
        // As the kernel does when page 65 is touched; page 70 is idle for another reason.
        file.as_file().write_all_at(&[0x44], 8).unwrap();
        let untouched = marked.still_idle().unwrap();
        let found: Vec<u64> = (0..200).filter(|number| untouched.contains(*number)).collect();
        assert_eq!(found, [1, 66]);
    }
}
