//! The kernel's bitmap of idle pages (`Documentation/admin-guide/mm/idle_page_tracking.rst`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Pages per word; only whole words can be read and written.
const WORD_PAGES: u64 = 64;
const WORD_BYTES: u64 = 8;

/// Pages by their numbers in memory, as words of the bitmap.
#[derive(Debug, Default)]
pub(crate) struct IdlePages(BTreeMap<u64, u64>);

impl IdlePages {
    pub(crate) fn mark(path: &Path, numbers: &BTreeSet<u64>) -> Result<Self, String> {
        let mut words: BTreeMap<u64, u64> = BTreeMap::new();
        for number in numbers {
            *words.entry(number / WORD_PAGES).or_default() |= 1 << (number % WORD_PAGES);
        }
        let write = |bitmap: File| {
            let mut words = words.iter();
            words.try_for_each(|(at, word)| {
                bitmap.write_all_at(&word.to_ne_bytes(), at * WORD_BYTES)
            })
        };
        let opened = File::options().read(true).write(true).open(path);
        opened.and_then(write).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(words))
    }

    /// The pages not touched since. The error is the reason.
    pub(crate) fn still_idle(mut self, path: &Path) -> Result<Self, String> {
        let read = |bitmap: File| {
            self.0.iter_mut().try_for_each(|(at, word)| {
                let mut bytes = [0; WORD_BYTES as usize];
                bitmap.read_exact_at(&mut bytes, at * WORD_BYTES)?;
                *word &= u64::from_ne_bytes(bytes);
                Ok(())
            })
        };
        let read = File::open(path).and_then(read);
        read.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(self)
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        let bits = self.0.get(&(number / WORD_PAGES)).copied().unwrap_or(0);
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
        let untouched = marked.still_idle(file.path()).unwrap();
        let found: Vec<u64> = (0..200).filter(|number| untouched.contains(*number)).collect();
        assert_eq!(found, [1, 66]);
    }
}
