//! Makes a device a swap area.

use std::io::{self, Write};

/// Bytes of a page, for which the header is written.
const PAGE_BYTES: u64 = 4096;

/// Writes the header of a swap area of `size_bytes` at the start of a device; what does not fill a
/// page stays unused.
///
/// # Errors
/// With fewer than 40 KiB or more than 16 TiB, or when the device cannot be written.
pub fn format(device: &mut impl Write, size_bytes: u64) -> io::Result<()> {
    device.write_all(&subject::swap_header(size_bytes / PAGE_BYTES)?)
}
