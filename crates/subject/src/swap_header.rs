//! The first page of a swap area, which makes it one.
//!
//! Follows `union swap_header` in the kernel's `include/linux/swap.h`, version 1.

use std::io;

/// Page size that the header is written for.
pub(crate) const PAGE_BYTES: usize = 4096;

/// The first page of a swap area of so many pages of 4 KiB, itself included.
///
/// # Errors
/// With fewer than 10 pages, which the kernel refuses, or more than it can count.
pub fn swap_header(pages: u64) -> io::Result<Vec<u8>> {
    let last_page = u32::try_from(pages.saturating_sub(1)).ok().filter(|last| *last >= 9);
    let Some(last_page) = last_page else {
        let text = "a swap area has at least 40 KiB and at most 16 TiB";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    };
    let mut page = vec![0; PAGE_BYTES];
    page[1024..1028].copy_from_slice(&1_u32.to_ne_bytes());
    page[1028..1032].copy_from_slice(&last_page.to_ne_bytes());
    page[PAGE_BYTES - 10..].copy_from_slice(b"SWAPSPACE2");
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_that_of_a_version_1_area() {
        let page = swap_header(256).unwrap();
        assert_eq!(page[1024..1032], [1, 0, 0, 0, 255, 0, 0, 0]);
        assert_eq!(&page[4086..], b"SWAPSPACE2");
        assert!(swap_header(1).is_err());
        assert!(swap_header(u64::MAX).is_err());
    }
}
