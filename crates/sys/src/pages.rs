//! Mappings whose pages are of a kind, and advice on them.

use std::io;

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
        let advice = match advice {
            Advice::Huge => libc::MADV_HUGEPAGE,
            Advice::Small => libc::MADV_NOHUGEPAGE,
            Advice::Random => libc::MADV_RANDOM,
        };
        // SAFETY: exactly the range of a live mapping; none of these pieces of advice changes what
        // is in it.
        let code =
            unsafe { libc::madvise(self.start().as_ptr().cast(), self.size_bytes(), advice) };
        if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
