//! Mappings whose pages are of a kind, and advice on them.

use std::io;
use std::ops::Range;

use crate::done;
use crate::memory::Mapping;

/// Advice on the pages of a mapping (`madvise(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Huge pages where they fit (`MADV_HUGEPAGE`).
    Huge,
    /// Small pages only (`MADV_NOHUGEPAGE`).
    Small,
    /// What lies beside a page that is touched is of no use: nothing is read ahead
    /// (`MADV_RANDOM`).
    Random,
}

impl Mapping {
    /// Maps fresh anonymous memory of which only a part will be touched: address space that no
    /// memory is set aside for (`MAP_NORESERVE`); `shared` with children forked later, or private.
    ///
    /// # Errors
    /// As [`Mapping::anonymous`].
    pub fn unreserved(size_bytes: usize, shared: bool) -> io::Result<Self> {
        Self::map_memory(size_bytes, shared, libc::MAP_NORESERVE)
    }

    /// Maps fresh anonymous memory of huge pages that were set aside (`MAP_HUGETLB`); `size_bytes`
    /// is a multiple of their size.
    ///
    /// # Errors
    /// When there are not so many of them free, or none at all in this kernel.
    pub fn huge(size_bytes: usize, shared: bool) -> io::Result<Self> {
        Self::map_memory(size_bytes, shared, libc::MAP_HUGETLB)
    }

    /// Advises the kernel on all pages of the mapping.
    ///
    /// # Errors
    /// When the kernel does not know the advice.
    pub fn advise(&self, advice: Advice) -> io::Result<()> {
        self.advise_part(0..self.size_bytes(), advice)
    }

    /// Advises the kernel on the pages of a part of the mapping: a range of offsets of whole pages.
    ///
    /// # Errors
    /// When the range does not begin at a page or reaches beyond the mapping, or the kernel does
    /// not know the advice.
    pub fn advise_part(&self, part: Range<usize>, advice: Advice) -> io::Result<()> {
        let advice = match advice {
            Advice::Huge => libc::MADV_HUGEPAGE,
            Advice::Small => libc::MADV_NOHUGEPAGE,
            Advice::Random => libc::MADV_RANDOM,
        };
        let (start, length) = self.part(part)?;
        // SAFETY: part of a live mapping; none of these pieces of advice changes what is in it.
        done(unsafe { libc::madvise(start, length, advice) })
    }

    /// Gives the pages of a part of the mapping back (`MADV_DONTNEED`): private memory is zero when
    /// it is touched next, shared memory is as it was.
    ///
    /// # Errors
    /// When the range does not begin at a page or reaches beyond the mapping, or the pages are
    /// locked.
    pub fn give_back(&self, part: Range<usize>) -> io::Result<()> {
        let (start, length) = self.part(part)?;
        // SAFETY: part of a live mapping, whose bytes are only read and written volatilely, so
        // that they may change at any time.
        done(unsafe { libc::madvise(start, length, libc::MADV_DONTNEED) })
    }

    /// Asks the kernel to write the pages of the mapping out and drop them (`MADV_PAGEOUT`), as far
    /// as it can: what is there, it only slows down.
    ///
    /// # Errors
    /// On kernels before 5.4.
    pub fn page_out(&self) -> io::Result<()> {
        // SAFETY: exactly the range of a live mapping, whose content stays.
        done(unsafe {
            libc::madvise(self.start().as_ptr().cast(), self.size_bytes(), libc::MADV_PAGEOUT)
        })
    }

    /// Lets a part of the mapping be read only, or be written again (`mprotect(2)`). While it is
    /// read only, a write to it ends the process (SIGSEGV).
    ///
    /// # Errors
    /// When the range does not begin at a page or reaches beyond the mapping, or the kernel
    /// refuses.
    pub fn protect(&self, part: Range<usize>, writable: bool) -> io::Result<()> {
        let (start, length) = self.part(part)?;
        let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
        // SAFETY: part of a live mapping, which stays readable.
        done(unsafe { libc::mprotect(start, length, protection) })
    }

    /// A part of the mapping as the system takes it.
    pub(crate) fn part(&self, part: Range<usize>) -> io::Result<(*mut libc::c_void, usize)> {
        if part.start > part.end || part.end > self.size_bytes() {
            let text = format!("{part:?} is no part of {} bytes", self.size_bytes());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        // SAFETY: the offset is inside the mapping or at its end.
        let start = unsafe { self.start().as_ptr().add(part.start) };
        Ok((start.cast(), part.end - part.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_space_costs_nothing_until_it_is_touched() {
        let mapping = Mapping::unreserved(64 << 30, false).unwrap();
        mapping.advise(Advice::Small).or_else(without_thp).unwrap();
        mapping.write(63 << 30, 7);
        assert_eq!((mapping.read(63 << 30), mapping.read(1 << 30)), (7, 0));
    }

    #[test]
    fn what_is_given_back_is_zero_if_private_and_kept_if_shared() {
        let page = rustix::param::page_size();
        let private = Mapping::anonymous(3 * page).unwrap();
        let shared = Mapping::shared(3 * page).unwrap();
        for mapping in [&private, &shared] {
            mapping.touch(page, 5);
            mapping.give_back(page..2 * page).unwrap();
            assert!(mapping.give_back(1..page).is_err());
            assert!(mapping.give_back(0..9 * page).is_err());
        }
        assert_eq!([0, page, 2 * page].map(|at| private.read(at)), [5, 0, 5]);
        assert_eq!([0, page, 2 * page].map(|at| shared.read(at)), [5, 5, 5]);
    }

    #[test]
    fn what_is_protected_can_be_read_and_is_written_again_later() {
        let page = rustix::param::page_size();
        let mapping = Mapping::anonymous(2 * page).unwrap();
        mapping.write(page, 1);
        mapping.protect(page..2 * page, false).unwrap();
        mapping.write(0, 2);
        assert_eq!(mapping.scan(0..2 * page), 3);
        mapping.protect(page..2 * page, true).unwrap();
        mapping.write(page, 4);
        assert_eq!(mapping.read(page), 4);
        assert!(mapping.protect(page..page + 1 + 2 * page, true).is_err());
    }

    /// A kernel without transparent huge pages has small ones anyway.
    fn without_thp(error: io::Error) -> io::Result<()> {
        if error.raw_os_error() == Some(libc::EINVAL) { Ok(()) } else { Err(error) }
    }

    #[test]
    fn huge_pages_are_had_or_refused_and_never_replaced() {
        let smaps = || std::fs::read_to_string("/proc/self/smaps").unwrap();
        match Mapping::huge(2 << 20, false) {
            Ok(mapping) => {
                mapping.write(0, 1);
                assert!(
                    smaps().lines().any(|line| line.starts_with("VmFlags") && line.contains(" ht"))
                );
            }
            Err(error) => {
                let code = error.raw_os_error();
                assert!([Some(libc::ENOMEM), Some(libc::EINVAL)].contains(&code), "{error}");
            }
        }
    }
}
