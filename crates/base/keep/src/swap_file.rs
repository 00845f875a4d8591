//! Swap files, and the header of swap areas (`union swap_header` in `include/linux/swap.h`).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sys::swap::swap_on;

const PAGE_BYTES: usize = 4096;

pub(crate) fn may_swap(path: &Path) -> io::Result<()> {
    let system_page = rustix::param::page_size();
    if system_page != PAGE_BYTES {
        let text = format!("pages of {system_page} bytes are not supported for --swap");
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    }
    match swap_on(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Fills a recorded swap file (no holes) and switches it on.
pub(crate) fn fill(
    mut file: File,
    path: &Path,
    size_bytes: u64,
    stop: &dyn Fn() -> bool,
) -> io::Result<()> {
    format(&mut file, size_bytes)?;
    let zeroes = vec![0; 1 << 20];
    let mut left_bytes = (size_bytes / PAGE_BYTES as u64 - 1) * PAGE_BYTES as u64;
    while left_bytes > 0 {
        if stop() {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        let part = left_bytes.min(zeroes.len() as u64) as usize;
        file.write_all(&zeroes[..part])?;
        left_bytes -= part as u64;
    }
    file.sync_all()?;
    swap_on(path)
}

/// Writes a swap header for `size_bytes`, rounded down. Fails below 40 KiB or above
/// 16 TiB, or when the device cannot be written.
pub fn format(device: &mut impl Write, size_bytes: u64) -> io::Result<()> {
    device.write_all(&header(size_bytes / PAGE_BYTES as u64)?)
}

/// The first page of an area of this many pages, itself included. The kernel wants at least 10.
fn header(pages: u64) -> io::Result<Vec<u8>> {
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
        let page = header(256).unwrap();
        assert_eq!(page[1024..1032], [1, 0, 0, 0, 255, 0, 0, 0]);
        assert_eq!(&page[4086..], b"SWAPSPACE2");
        assert!(header(1).is_err());
        assert!(header(u64::MAX).is_err());
    }
}
