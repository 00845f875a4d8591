//! The layout of a file system of a given size.
//!
//! A group starts with copies of superblock and descriptors (some groups), two bitmaps and the
//! inode table. The first group also has the two directories, the middle one the journal.

use std::io;

use super::{BLOCK_BYTES, GROUP_BLOCKS, INODE_BYTES, LOST_FOUND_BLOCKS, LOST_FOUND_INODE};

pub(super) const DESCRIPTOR_BYTES: usize = 32;
const BLOCK_INODES: u32 = (BLOCK_BYTES / INODE_BYTES) as u32;
/// 8 MiB, half of it journal.
const LEAST_BLOCKS: u64 = 2048;
/// A last group with fewer usable blocks is dropped.
const LEAST_TAIL_BLOCKS: u32 = 50;

/// The places and numbers of one file system.
#[derive(Debug)]
pub(super) struct Geometry {
    pub(super) blocks: u32,
    pub(super) inodes_per_group: u32,
    pub(super) groups: Vec<Group>,
    pub(super) journal: Vec<Run>,
    descriptor_blocks: u32,
}

/// One group of blocks, of which the first are in use.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) first_block: u32,
    pub(super) blocks: u32,
    pub(super) used_blocks: u32,
    pub(super) used_inodes: u32,
    pub(super) has_superblock: bool,
    /// The block bitmap; inode bitmap and inode table follow.
    pub(super) bitmap_block: u32,
}

/// Blocks that follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) first_block: u32,
    pub(super) blocks: u32,
}

impl Geometry {
    pub(super) fn for_size(size_bytes: u64) -> io::Result<Self> {
        let blocks = size_bytes / BLOCK_BYTES as u64;
        let Some(blocks) = u32::try_from(blocks).ok().filter(|_| blocks >= LEAST_BLOCKS) else {
            let text =
                format!("an ext4 file system of {size_bytes} bytes: it must have 8 MiB to 16 TiB");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        let geometry = Self::without_journal(blocks);
        let tail_blocks = blocks % GROUP_BLOCKS;
        let tail_use_blocks = geometry.groups.last().map_or(0, |group| group.used_blocks);
        let tail_too_small = tail_blocks != 0 && tail_blocks < tail_use_blocks + LEAST_TAIL_BLOCKS;
        if blocks > GROUP_BLOCKS && tail_too_small {
            return Ok(Self::without_journal(blocks - tail_blocks).with_journal());
        }
        Ok(geometry.with_journal())
    }

    fn without_journal(blocks: u32) -> Self {
        let group_count = blocks.div_ceil(GROUP_BLOCKS);
        let inodes_per_group = inodes(blocks).div_ceil(group_count).next_multiple_of(BLOCK_INODES);
        let descriptor_bytes = group_count * DESCRIPTOR_BYTES as u32;
        let mut geometry = Self {
            blocks,
            inodes_per_group,
            groups: Vec::new(),
            journal: Vec::new(),
            descriptor_blocks: descriptor_bytes.div_ceil(BLOCK_BYTES as u32),
        };
        geometry.groups = (0..group_count).map(|index| geometry.group(index)).collect();
        geometry.groups[0].used_blocks += 1 + LOST_FOUND_BLOCKS;
        geometry.groups[0].used_inodes = LOST_FOUND_INODE;
        geometry
    }

    fn group(&self, index: u32) -> Group {
        let first_block = index * GROUP_BLOCKS;
        let has_superblock = has_superblock(index);
        let before_bitmap = if has_superblock { 1 + self.descriptor_blocks } else { 0 };
        Group {
            first_block,
            blocks: GROUP_BLOCKS.min(self.blocks - first_block),
            used_blocks: before_bitmap + 2 + self.inode_table_blocks(),
            used_inodes: 0,
            has_superblock,
            bitmap_block: first_block + before_bitmap,
        }
    }

    /// In the middle of the disk, close to everything.
    fn with_journal(mut self) -> Self {
        let mut left_blocks = journal_blocks(self.blocks);
        let middle = (self.groups.len() - 1) / 2;
        for group in &mut self.groups[middle..] {
            if left_blocks == 0 {
                break;
            }
            let blocks = left_blocks.min(group.blocks - group.used_blocks);
            self.journal.push(Run { first_block: group.first_block + group.used_blocks, blocks });
            group.used_blocks += blocks;
            left_blocks -= blocks;
        }
        self
    }

    pub(super) fn inode_table_blocks(&self) -> u32 {
        self.inodes_per_group / BLOCK_INODES
    }

    pub(super) fn root_block(&self) -> u32 {
        self.groups[0].inode_table_block() + self.inode_table_blocks()
    }

    pub(super) fn lost_found_block(&self) -> u32 {
        self.root_block() + 1
    }

    pub(super) fn journal_blocks(&self) -> u32 {
        self.journal.iter().map(|run| run.blocks).sum()
    }
}

impl Group {
    pub(super) fn inode_table_block(&self) -> u32 {
        self.bitmap_block + 2
    }
}

/// One per 4 KiB of a small disk or 16 KiB of others, as in `mke2fs`.
fn inodes(blocks: u32) -> u32 {
    let small = u64::from(blocks) * (BLOCK_BYTES as u64) < 512 << 20;
    if small { blocks } else { blocks / 4 }
}

/// As in `mke2fs`, but at most 128 MiB.
fn journal_blocks(blocks: u32) -> u32 {
    match blocks {
        0..0x8000 => 1 << 10,
        0x8000..0x4_0000 => 1 << 12,
        0x4_0000..0x8_0000 => 1 << 13,
        0x8_0000..0x40_0000 => 1 << 14,
        0x40_0000.. => 1 << 15,
    }
}

/// The first two groups, and powers of 3, 5 and 7.
fn has_superblock(index: u32) -> bool {
    let is_power_of = |base: u32| {
        let mut rest = index;
        while rest.is_multiple_of(base) {
            rest /= base;
        }
        rest == 1
    };
    index <= 1 || [3, 5, 7].into_iter().any(is_power_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_the_superblock_are_sparse() {
        let with: Vec<u32> = (0..130).filter(|index| has_superblock(*index)).collect();
        assert_eq!(with, [0, 1, 3, 5, 7, 9, 25, 27, 49, 81, 125]);
    }

    #[test]
    fn the_numbers_are_those_of_mke2fs() {
        // MiB, inodes of a group, blocks of the journal; from mke2fs 1.47.
        let expected = [
            (8, 2048, 1024),
            (120, 30720, 1024),
            (128, 32768, 4096),
            (136, 17408, 4096),
            (512, 8192, 4096),
            (1000, 8000, 4096),
            (1024, 8192, 8192),
            (4096, 8192, 16384),
            (16384, 8192, 32768),
        ];
        for (mib, inodes, journal) in expected {
            let geometry = Geometry::for_size(mib << 20).unwrap();
            assert_eq!(geometry.inodes_per_group, inodes, "{mib} MiB");
            assert_eq!(geometry.journal_blocks(), journal, "{mib} MiB");
        }
    }

    #[test]
    fn a_tail_too_small_for_its_tables_is_left_away() {
        let group_bytes = u64::from(GROUP_BLOCKS) * 4096;
        assert_eq!(Geometry::for_size(4 * group_bytes + (100 << 12)).unwrap().groups.len(), 4);
        assert_eq!(Geometry::for_size(4 * group_bytes + (8 << 20)).unwrap().groups.len(), 5);
    }

    #[test]
    fn sizes_out_of_range_are_named() {
        let error = Geometry::for_size((8 << 20) - 1).unwrap_err();
        assert!(error.to_string().contains("8388607 bytes"), "{error}");
        assert!(Geometry::for_size(1 << 44).is_err());
        assert!(Geometry::for_size((1 << 44) - 4096).is_ok());
    }
}
