//! Writing the pages of a file to its disk, without its metadata.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

use crate::done_in_the_end;

/// Writes the dirty pages of a range of bytes, and waits until they are written
/// (`sync_file_range(2)`). Fails when the disk does, or the file has no pages.
pub fn write_back(file: &File, range: Range<u64>) -> io::Result<()> {
    let (start, length) = (range.start as i64, range.end.saturating_sub(range.start) as i64);
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: a system call on numbers.
    done_in_the_end(|| unsafe { libc::sync_file_range(file.as_raw_fd(), start, length, all) })
}
