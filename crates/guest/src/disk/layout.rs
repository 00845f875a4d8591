//! How a disk is divided: swap first, then the file system.

use std::ops::Range;

/// Partitions begin and end at multiples of this many bytes.
const ALIGNMENT_BYTES: u64 = 1 << 20;
/// The least that is left for the file system, in bytes: the smallest ext4 that can be written.
const LEAST_FILE_SYSTEM_BYTES: u64 = 8 << 20;

/// The partitions of a disk, as ranges of bytes. The first MiB stays free, as partitioning
/// programs leave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Where swap lies, if there is any.
    pub(crate) swap: Option<Range<u64>>,
    /// Where the file system lies.
    pub(crate) file_system: Range<u64>,
}

impl Layout {
    /// Divides a disk. Swap is rounded up to whole MiB, or left away if it is 0; the file system
    /// has what remains, rounded down.
    ///
    /// # Errors
    /// When less than 8 MiB remain.
    pub(crate) fn new(disk_bytes: u64, swap_bytes: u64) -> Result<Self, String> {
        let swap_end = swap_bytes
            .checked_next_multiple_of(ALIGNMENT_BYTES)
            .and_then(|swap_bytes| swap_bytes.checked_add(ALIGNMENT_BYTES))
            .unwrap_or(u64::MAX);
        let disk_end = disk_bytes - disk_bytes % ALIGNMENT_BYTES;
        let least_bytes = swap_end.saturating_add(LEAST_FILE_SYSTEM_BYTES);
        if disk_end < least_bytes {
            return Err(format!(
                "a disk of {disk_bytes} bytes has no room for {swap_bytes} bytes of swap, 1 MiB \
                 before it and a file system of at least 8 MiB behind; give it at least \
                 {least_bytes} bytes, or less swap"
            ));
        }
        Ok(Self {
            swap: (swap_bytes > 0).then_some(ALIGNMENT_BYTES..swap_end),
            file_system: swap_end..disk_end,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn swap_comes_first_and_everything_is_aligned() {
        let layout = Layout::new(100 * MIB + 512, 10 * MIB + 1).unwrap();
        assert_eq!(layout.swap, Some(MIB..12 * MIB));
        assert_eq!(layout.file_system, 12 * MIB..100 * MIB);
    }

    #[test]
    fn without_swap_there_is_no_partition_for_it() {
        let layout = Layout::new(9 * MIB, 0).unwrap();
        assert_eq!(layout, Layout { swap: None, file_system: MIB..9 * MIB });
    }

    #[test]
    fn what_does_not_fit_is_named_with_what_would() {
        let error = Layout::new(20 * MIB, 12 * MIB).unwrap_err();
        assert!(error.contains("at least 22020096 bytes"), "{error}");
        assert!(Layout::new(22_020_096, 12 * MIB).is_ok());
        assert!(Layout::new(22_020_095, 12 * MIB).is_err());
        assert!(Layout::new(u64::MAX, u64::MAX).is_err());
        assert!(Layout::new(0, 0).is_err());
    }
}
