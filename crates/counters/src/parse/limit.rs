//! Limits of a control group: a number of bytes, or none.

use super::{ParseError, single_value};

/// What version 2 writes for no limit.
const UNLIMITED: &str = "max";
/// From here on a limit of version 1 is none: the largest multiple of a page that fits 63 bits,
/// for the largest pages that an architecture has (64 KiB).
const UNLIMITED_BYTES: u64 = (1 << 63) - (64 << 10);

/// Reads a limit of a control group: version 2's `memory.max` or `memory.high`, version 1's
/// `memory.limit_in_bytes`, in bytes; `None` if there is none.
///
/// Follows `Documentation/admin-guide/cgroup-v2.rst` and `page_counter.h` of the kernel
/// (`PAGE_COUNTER_MAX`, which version 1 writes for no limit).
///
/// # Errors
/// When the file holds neither `max` nor one number.
pub fn limit(text: &str) -> Result<Option<u64>, ParseError> {
    if text.trim_ascii() == UNLIMITED {
        return Ok(None);
    }
    single_value(text).map(|bytes| Some(bytes).filter(|bytes| *bytes < UNLIMITED_BYTES))
}
