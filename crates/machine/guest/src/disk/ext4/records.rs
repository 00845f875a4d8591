//! The file system's records as bytes: little-endian, except for the journal.

use super::geometry::{DESCRIPTOR_BYTES, Geometry, Run};
use super::{
    BLOCK_BYTES, GROUP_BLOCKS, INODE_BYTES, JOURNAL_INODE, LOST_FOUND_BLOCKS, LOST_FOUND_INODE,
    ROOT_INODE, TIME_S, UUID,
};

const SUPERBLOCK_BYTES: usize = 1024;
/// `has_journal`, `ext_attr`, `dir_index`; `filetype`, `extents`, needed to read; `sparse_super`,
/// `large_file`, `extra_isize`, needed to write.
const FEATURES: [u32; 3] = [0x4 | 0x8 | 0x20, 0x2 | 0x40, 0x1 | 0x2 | 0x40];
/// Used bytes of an inode after the first 128: finer times, creation time.
const EXTRA_INODE_BYTES: u16 = 32;
const INODE_EXTENTS_AT: usize = 0x28;
/// A header and room for four extents.
const EXTENTS_BYTES: usize = 60;
const ENTRY_DIRECTORY: u8 = 2;

/// The superblock (`super.rst`), or its copy in another group.
pub(super) fn superblock(geometry: &Geometry, group: u32) -> Vec<u8> {
    let groups = &geometry.groups;
    let inodes = geometry.inodes_per_group * groups.len() as u32;
    let used_inodes: u32 = groups.iter().map(|group| group.used_inodes).sum();
    let used_blocks: u32 = groups.iter().map(|group| group.used_blocks).sum();
    let mut bytes = vec![0; SUPERBLOCK_BYTES];
    // A twentieth for root.
    let (blocks, free_blocks) = (geometry.blocks, geometry.blocks - used_blocks);
    put_words(&mut bytes, 0x0, &[inodes, blocks, blocks / 20, free_blocks, inodes - used_inodes]);
    // Blocks and clusters of 2^(10 + 2) bytes.
    put_words(&mut bytes, 0x18, &[2, 2, GROUP_BLOCKS, GROUP_BLOCKS, geometry.inodes_per_group]);
    put_words(&mut bytes, 0x30, &[TIME_S]);
    // No check by mount count; the magic; clean; continue after errors.
    for (at, half) in [(0x36, u16::MAX), (0x38, 0xef53), (0x3a, 1), (0x3c, 1)] {
        put_u16(&mut bytes, at, half);
    }
    put_words(&mut bytes, 0x40, &[TIME_S]);
    // Revision 1: features and variable inode size.
    put_words(&mut bytes, 0x4c, &[1, 0, LOST_FOUND_INODE]);
    put_u16(&mut bytes, 0x58, INODE_BYTES as u16);
    // Truncated after group 65535, as in `mke2fs`.
    put_u16(&mut bytes, 0x5a, group as u16);
    put_words(&mut bytes, 0x5c, &FEATURES);
    put(&mut bytes, 0x68, &UUID);
    put_words(&mut bytes, 0xe0, &[JOURNAL_INODE]);
    put(&mut bytes, 0xec, &UUID);
    // Half MD4 of signed characters as directory hash.
    put(&mut bytes, 0xfc, &[1]);
    put_words(&mut bytes, 0x160, &[1]);
    // Mount options user_xattr and acl.
    put_words(&mut bytes, 0x100, &[0x4 | 0x8]);
    put_words(&mut bytes, 0x108, &[TIME_S]);
    // A backup of the journal's inode.
    put(&mut bytes, 0xfd, &[1]);
    put(&mut bytes, 0x10c, &extents(&geometry.journal));
    put_words(&mut bytes, 0x14c, &[geometry.journal_blocks() * BLOCK_BYTES as u32]);
    put_u16(&mut bytes, 0x15c, EXTRA_INODE_BYTES);
    put_u16(&mut bytes, 0x15e, EXTRA_INODE_BYTES);
    bytes
}

/// All group descriptors (`group_descr.rst`), in whole blocks.
pub(super) fn descriptors(geometry: &Geometry) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, group) in geometry.groups.iter().enumerate() {
        let mut descriptor = [0; DESCRIPTOR_BYTES];
        let bitmap = group.bitmap_block;
        put_words(&mut descriptor, 0x0, &[bitmap, bitmap + 1, group.inode_table_block()]);
        put_u16(&mut descriptor, 0xc, (group.blocks - group.used_blocks) as u16);
        put_u16(&mut descriptor, 0xe, (geometry.inodes_per_group - group.used_inodes) as u16);
        // Directories: the root and lost+found.
        put_u16(&mut descriptor, 0x10, if index == 0 { 2 } else { 0 });
        bytes.extend(descriptor);
    }
    bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
    bytes
}

/// The first block of the inode table, with all used inodes (`inodes.rst`).
pub(super) fn first_inodes(geometry: &Geometry) -> Vec<u8> {
    let root = Run { first_block: geometry.root_block(), blocks: 1 };
    let lost_found = Run { first_block: geometry.lost_found_block(), blocks: LOST_FOUND_BLOCKS };
    let mut bytes = vec![0; BLOCK_BYTES];
    let mut put_inode = |number: u32, mode: u16, links: u16, runs: &[Run]| {
        let at = (number as usize - 1) * INODE_BYTES;
        put(&mut bytes, at, &inode(mode, links, runs));
    };
    put_inode(ROOT_INODE, 0o040_755, 3, &[root]);
    put_inode(JOURNAL_INODE, 0o100_600, 1, &geometry.journal);
    put_inode(LOST_FOUND_INODE, 0o040_700, 2, &[lost_found]);
    bytes
}

fn inode(mode: u16, links: u16, runs: &[Run]) -> Vec<u8> {
    let size_bytes = runs.iter().map(|run| run.blocks).sum::<u32>() * BLOCK_BYTES as u32;
    let mut bytes = vec![0; INODE_BYTES];
    put_u16(&mut bytes, 0x0, mode);
    put_words(&mut bytes, 0x4, &[size_bytes]);
    // Access, change, modification and creation times.
    put_words(&mut bytes, 0x8, &[TIME_S, TIME_S, TIME_S]);
    put_words(&mut bytes, 0x90, &[TIME_S]);
    put_u16(&mut bytes, 0x1a, links);
    put_words(&mut bytes, 0x1c, &[size_bytes / 512]);
    // Its blocks are extents.
    put_words(&mut bytes, 0x20, &[0x8_0000]);
    put(&mut bytes, INODE_EXTENTS_AT, &extents(runs));
    put_u16(&mut bytes, 0x80, EXTRA_INODE_BYTES);
    bytes
}

/// An extent tree inside the inode (`ifork.rst`): a header and at most four runs.
fn extents(runs: &[Run]) -> [u8; EXTENTS_BYTES] {
    let mut bytes = [0; EXTENTS_BYTES];
    put_u16(&mut bytes, 0, 0xf30a);
    put_u16(&mut bytes, 2, runs.len() as u16);
    put_u16(&mut bytes, 4, 4);
    let mut file_block = 0;
    for (index, run) in runs.iter().enumerate() {
        let at = 12 * (index + 1);
        put_words(&mut bytes, at, &[file_block]);
        put_u16(&mut bytes, at + 4, run.blocks as u16);
        put_words(&mut bytes, at + 8, &[run.first_block]);
        file_block += run.blocks;
    }
    bytes
}

/// The root directory's block (`directory.rst`).
pub(super) fn root_directory() -> Vec<u8> {
    let mut bytes = vec![0; BLOCK_BYTES];
    put_entry(&mut bytes, 0, ROOT_INODE, 12, b".");
    put_entry(&mut bytes, 12, ROOT_INODE, 12, b"..");
    put_entry(&mut bytes, 24, LOST_FOUND_INODE, BLOCK_BYTES - 24, b"lost+found");
    bytes
}

/// The blocks of `lost+found`: all but the first are one empty entry.
pub(super) fn lost_found_directory() -> Vec<u8> {
    let mut bytes = vec![0; LOST_FOUND_BLOCKS as usize * BLOCK_BYTES];
    put_entry(&mut bytes, 0, LOST_FOUND_INODE, 12, b".");
    put_entry(&mut bytes, 12, ROOT_INODE, BLOCK_BYTES - 12, b"..");
    for block in bytes.chunks_mut(BLOCK_BYTES).skip(1) {
        put_u16(block, 4, BLOCK_BYTES as u16);
    }
    bytes
}

fn put_entry(bytes: &mut [u8], at: usize, inode: u32, entry_bytes: usize, name: &[u8]) {
    put_words(bytes, at, &[inode]);
    put_u16(bytes, at + 4, entry_bytes as u16);
    put(bytes, at + 6, &[name.len() as u8, ENTRY_DIRECTORY]);
    put(bytes, at + 8, name);
}

/// An empty journal's superblock, version 2 (`journal.rst`). Big-endian.
pub(super) fn journal_superblock(blocks: u32) -> Vec<u8> {
    // Magic, version, block number, sizes; first log block, first sequence, empty.
    let words = [0xc03b_3998, 4, 0, BLOCK_BYTES as u32, blocks, 1, 1, 0];
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
    bytes.resize(BLOCK_BYTES, 0);
    // One file system uses it.
    put(&mut bytes, 0x40, &1_u32.to_be_bytes());
    bytes
}

fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    put(bytes, at, &value.to_le_bytes());
}

fn put_words(bytes: &mut [u8], at: usize, words: &[u32]) {
    for (index, word) in words.iter().enumerate() {
        put(bytes, at + 4 * index, &word.to_le_bytes());
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}
