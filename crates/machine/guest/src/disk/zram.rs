//! Swap in compressed memory (`Documentation/admin-guide/blockdev/zram.rst`).

use std::fs;
use std::path::{Path, PathBuf};

use super::drivers::{BLOCK_DEVICES, write};
use super::node::{failed, wait_for};

/// The module makes one.
const NAME: &str = "zram0";

/// Sets the area up; returns its node. Fails when the kernel lacks the compressor.
pub(super) fn prepare(size_bytes: u64, compressor: &str) -> Result<PathBuf, String> {
    let folder = Path::new(BLOCK_DEVICES).join(NAME);
    write(&folder.join("comp_algorithm"), compressor).map_err(|why| {
        let known = fs::read_to_string(folder.join("comp_algorithm")).unwrap_or_default();
        format!("disk.compressor={compressor}: {why}; this kernel has: {}", known.trim())
    })?;
    write(&folder.join("disksize"), size_bytes)?;
    let node = Path::new("/dev").join(NAME);
    wait_for(&node).map_err(failed("find the node", &node))?;
    Ok(node)
}

/// What the device reports of its pages (`mm_stat`).
pub(super) struct Pages {
    pub(super) compressed_bytes: u64,
    pub(super) same_filled: u64,
    pub(super) incompressible: u64,
}

impl Pages {
    pub(super) fn read() -> Result<Self, String> {
        let path = Path::new(BLOCK_DEVICES).join(NAME).join("mm_stat");
        let text = fs::read_to_string(&path).map_err(failed("read", &path))?;
        Self::parse(&text).ok_or_else(|| format!("{} has other columns", path.display()))
    }

    fn parse(text: &str) -> Option<Self> {
        let columns: Vec<u64> = text.split_whitespace().map_while(|it| it.parse().ok()).collect();
        let column = |index: usize| columns.get(index).copied();
        Some(Self {
            compressed_bytes: column(1)?,
            same_filled: column(5)?,
            incompressible: column(7)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_by_column() {
        let pages = Pages::parse("  8192   4176   16384  0  16384   1   0   2   2\n").unwrap();
        assert_eq!((pages.compressed_bytes, pages.same_filled, pages.incompressible), (4176, 1, 2));
        assert!(Pages::parse("8192 4176").is_none());
    }
}
