//! A temporary swap file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use agent::Waiter;
use sys::swap::swap_on;

use crate::swap_header::{PAGE_BYTES, swap_header};

/// Whether this process may switch swap on: asked for before the file, which need not be written
/// without.
///
/// # Errors
/// Without the privilege, or for pages of another size.
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

/// Makes the file, empty.
///
/// # Errors
/// When there is one of this name.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Writes a swap file of `size_bytes` (no holes) and switches it on; the caller has written it
/// into the journal.
///
/// # Errors
/// Without space, on a file system that cannot swap to files, or when the user stops it.
pub(crate) fn fill(
    mut file: File,
    path: &Path,
    size_bytes: u64,
    waiter: &Waiter,
) -> io::Result<()> {
    let pages = size_bytes / PAGE_BYTES as u64;
    file.write_all(&swap_header(pages)?)?;
    let zeroes = vec![0; 1 << 20];
    let mut left_bytes = (pages - 1) * PAGE_BYTES as u64;
    while left_bytes > 0 {
        if waiter.stop_requested() {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        let part = left_bytes.min(zeroes.len() as u64) as usize;
        file.write_all(&zeroes[..part])?;
        left_bytes -= part as u64;
    }
    file.sync_all()?;
    swap_on(path)
}
