//! Mappings whose pages are of a kind or from a node, and advice on them.

use std::io;
use std::ops::Range;

use crate::done;
use crate::memory::{Advice, MASK_BITS, Mapping, Placement};

impl Mapping {
    /// Maps anonymous memory without reserving swap (`MAP_NORESERVE`), or with `huge` reserved huge
    /// pages (`MAP_HUGETLB`). Fails when too few of these are free.
    pub fn unreserved(size_bytes: usize, shared: bool, huge: bool) -> io::Result<Self> {
        let kind = if huge { libc::MAP_HUGETLB } else { libc::MAP_NORESERVE };
        Self::map_memory(size_bytes, shared, kind)
    }

    /// Maps anonymous private memory of small pages only, whatever the system's policy.
    /// Fails when the kernel refuses the mapping.
    pub fn small_pages(size_bytes: usize) -> io::Result<Self> {
        let mapping = Self::anonymous(size_bytes)?;
        // A kernel that does not know the advice has small pages only.
        let _ = mapping.advise(Advice::Small);
        Ok(mapping)
    }

    /// Advises the kernel on all pages. Fails when it does not know the advice.
    pub fn advise(&self, advice: Advice) -> io::Result<()> {
        self.advise_part(0..self.size_bytes(), advice)
    }

    /// Calls `madvise` on a range of whole pages. Fails for any other range and for unknown advice.
    pub fn advise_part(&self, part: Range<usize>, advice: Advice) -> io::Result<()> {
        let advice = match advice {
            Advice::Huge => libc::MADV_HUGEPAGE,
            Advice::Small => libc::MADV_NOHUGEPAGE,
            Advice::Random => libc::MADV_RANDOM,
        };
        let (start, length) = self.part(part)?;
        // SAFETY: part of a live mapping; no such advice changes its contents.
        done(unsafe { libc::madvise(start, length, advice) })
    }

    /// Frees the pages of a part (`MADV_DONTNEED`): private memory is zero afterwards, shared
    /// memory is unchanged. Fails as [`Mapping::advise_part`], and if they are locked.
    pub fn give_back(&self, part: Range<usize>) -> io::Result<()> {
        let (start, length) = self.part(part)?;
        // SAFETY: part of a live mapping; its bytes may change at any time, as access is volatile.
        done(unsafe { libc::madvise(start, length, libc::MADV_DONTNEED) })
    }

    /// Asks the kernel to evict the pages of the mapping (`MADV_PAGEOUT`). Fails before Linux 5.4.
    pub fn page_out(&self) -> io::Result<()> {
        let (start, length) = self.part(0..self.size_bytes())?;
        // SAFETY: exactly the range of a live mapping, whose content stays.
        done(unsafe { libc::madvise(start, length, libc::MADV_PAGEOUT) })
    }

    /// Sets whether a part is writable (`mprotect(2)`); writing to one that is not ends the process
    /// (SIGSEGV). Fails as [`Mapping::advise_part`], or when the kernel refuses.
    pub fn protect(&self, part: Range<usize>, writable: bool) -> io::Result<()> {
        let (start, length) = self.part(part)?;
        let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
        // SAFETY: part of a live mapping, which stays readable.
        done(unsafe { libc::mprotect(start, length, protection) })
    }

    /// Sets where pages of a part come from that are touched from now on (`mbind(2)`). Fails as
    /// [`Mapping::advise_part`], for a node above 63, or when the kernel knows no nodes.
    pub fn place(&self, part: Range<usize>, placement: Placement) -> io::Result<()> {
        let (mode, nodes) = match placement {
            Placement::OfProcess => (libc::MPOL_DEFAULT, 0),
            Placement::Local => (libc::MPOL_LOCAL, 0),
            Placement::Prefer(node) => {
                let mask = 1_u64.checked_shl(node).filter(|mask| *mask != 0);
                let beyond = || io::Error::new(io::ErrorKind::InvalidInput, "no such node");
                (libc::MPOL_PREFERRED, mask.ok_or_else(beyond)?)
            }
        };
        let (start, length) = self.part(part)?;
        let mask: *const u64 = if nodes == 0 { std::ptr::null() } else { &raw const nodes };
        let bits = if nodes == 0 { 0 } else { MASK_BITS };
        // SAFETY: part of a live mapping, whose content stays; the mask has `bits` bits and
        // outlives the call.
        done(unsafe {
            libc::syscall(libc::SYS_mbind, start, length, mode, mask, bits, 0) as libc::c_int
        })
    }

    pub(crate) fn part(&self, part: Range<usize>) -> io::Result<(*mut libc::c_void, usize)> {
        if part.start > part.end || part.end > self.size_bytes() {
            let text = format!("{part:?} is not part of {} bytes", self.size_bytes());
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
        let mapping = Mapping::unreserved(64 << 30, false, false).unwrap();
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
        match Mapping::unreserved(2 << 20, false, true) {
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

    #[test]
    fn the_first_node_is_everywhere_and_the_65th_cannot_be_named() {
        let page = rustix::param::page_size();
        let mapping = Mapping::anonymous(2 * page).unwrap();
        let known = match mapping.place(0..page, Placement::Prefer(0)) {
            Ok(()) => true,
            // A kernel without nodes, or a sandbox that forbids the call.
            Err(error) => {
                let code = error.raw_os_error();
                assert!([Some(libc::ENOSYS), Some(libc::EPERM)].contains(&code), "{error}");
                false
            }
        };
        // The kernel refuses a node that does not exist, so it has seen the last bit of the mask.
        let last = mapping.place(0..page, Placement::Prefer(63));
        let nodes = std::fs::read_to_string("/sys/devices/system/node/possible");
        if known && nodes.is_ok_and(|nodes| nodes.trim() == "0") {
            assert_eq!(last.unwrap_err().raw_os_error(), Some(libc::EINVAL));
        }
        mapping.write(0, 3);
        assert_eq!(mapping.place(0..page, Placement::OfProcess).is_ok(), known);
        assert!(mapping.place(0..page, Placement::Prefer(64)).is_err());
        assert!(mapping.place(0..9 * page, Placement::OfProcess).is_err());
        assert_eq!(mapping.read(0), 3);
    }
}
