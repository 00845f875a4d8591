//! The mapped pages of a process, from the kernel's scan of its page tables
//! (`include/uapi/linux/fs.h` and `Documentation/admin-guide/mm/pagemap.rst` of the kernel).

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

use crate::memory::Mapping;

/// `_IOWR('f', 16, struct pm_scan_arg)` of most architectures; others do not know the call.
const PAGEMAP_SCAN: u32 = 0xc060_6610;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_SWAPPED: u64 = 1 << 4;
const PAGE_IS_PFNZERO: u64 = 1 << 5;
const PAGE_IS_HUGE: u64 = 1 << 6;

const STRETCHES: usize = 1024;

/// Pages in a row that are all mapped alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its addresses, whole pages.
    pub addresses: Range<u64>,
    /// They are the kernel's page of zeros: memory that was read but never written.
    pub zeros: bool,
    /// One entry of a higher level maps many: a transparent huge page, or one of hugetlbfs.
    pub huge: bool,
}

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct Request {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `struct page_region`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct PageRegion {
    start: u64,
    end: u64,
    categories: u64,
}

/// The stretches of an address range whose page-table entries hold a page in memory or in swap.
/// Ranges without page tables cost nothing. `pagemap` is an open `/proc/PID/pagemap`.
///
/// Fails before Linux 6.7, for other files (`ENOTTY`), ended processes and parts of pages.
pub fn occupied(pagemap: &File, addresses: Range<u64>) -> io::Result<Vec<Stretch>> {
    let mut found = Vec::new();
    let mut start = addresses.start;
    while start < addresses.end {
        let mut regions = [PageRegion::default(); STRETCHES];
        let mut request = Request {
            size: size_of::<Request>() as u64,
            start,
            end: addresses.end,
            vec: regions.as_mut_ptr().addr() as u64,
            vec_len: STRETCHES as u64,
            category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
            return_mask: PAGE_IS_PFNZERO | PAGE_IS_HUGE,
            ..Request::default()
        };
        // The kernel writes through the address as an integer.
        let _ = regions.as_mut_ptr().expose_provenance();
        // SAFETY: the kernel writes to `request` and at most `vec_len` elements of `regions`, which
        // outlive the call; any other file refuses it.
        let count = unsafe {
            libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN as libc::Ioctl, &raw mut request)
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        found.extend(regions.iter().take(count).map(|region| Stretch {
            addresses: region.start..region.end,
            zeros: region.categories & PAGE_IS_PFNZERO != 0,
            huge: region.categories & PAGE_IS_HUGE != 0,
        }));
        // Without progress this would never end.
        if request.walk_end <= start {
            return Err(io::Error::other("the scan of page tables makes no progress"));
        }
        start = request.walk_end;
    }
    Ok(found)
}

/// The first address of a mapping.
pub fn address(mapping: &Mapping) -> u64 {
    mapping.start().as_ptr().addr() as u64
}

/// Bytes of a page of this system.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_touched_is_occupied() {
        let page = page_bytes();
        // Shared memory gets no huge pages unless requested.
        let mapping = Mapping::shared(64 * page as usize).unwrap();
        let start = address(&mapping);
        for touched in [3, 4, 9] {
            mapping.write(touched * page as usize, 1);
        }
        let pagemap = File::open("/proc/self/pagemap").unwrap();
        let found = match occupied(&pagemap, start..start + 64 * page) {
            // Before 6.7 there is no such call.
            Err(error) if error.raw_os_error() == Some(libc::ENOTTY) => return,
            found => found.unwrap(),
        };
        let stretch = |from: u64, to: u64| Stretch {
            addresses: start + from * page..start + to * page,
            zeros: false,
            huge: false,
        };
        assert_eq!(found, [stretch(3, 5), stretch(9, 10)]);
    }

    #[test]
    fn another_file_refuses() {
        let file = File::open("/proc/self/status").unwrap();
        assert!(occupied(&file, 0..page_bytes()).is_err());
    }
}
