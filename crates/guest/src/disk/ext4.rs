//! Writes an empty ext4 file system, the same bytes for the same arguments.
//!
//! Follows the kernel's `Documentation/filesystems/ext4`. The format is the plain one: blocks of
//! 4 KiB, inodes of 256 bytes, a journal inside, extents, indexed directories, few copies of the
//! superblock; no checksums, no flexible groups, no reserve for growth. Numbers that are a choice
//! (inodes, journal, reserve for root) are those of `mke2fs`.
//!
//! **Invariant:** what is used in a group is its beginning, without a gap (see `geometry`).

mod geometry;
mod records;
#[cfg(test)]
mod tests;

use std::io::{self, Seek, SeekFrom, Write};

use geometry::{Geometry, Group};

/// Bytes of a block.
const BLOCK_BYTES: usize = 4096;
/// Blocks of a group, but for the last: as many as one block has bits.
const GROUP_BLOCKS: u32 = 8 * BLOCK_BYTES as u32;
/// Bytes of an inode.
const INODE_BYTES: usize = 256;
/// Inode of the root directory.
const ROOT_INODE: u32 = 2;
/// Inode of the journal.
const JOURNAL_INODE: u32 = 8;
/// Inode of `lost+found`, the first that is not reserved.
const LOST_FOUND_INODE: u32 = 11;
/// Blocks of `lost+found`, made large at once so that nothing need be allocated in an emergency.
const LOST_FOUND_BLOCKS: u32 = 4;

/// Identity of the file system, and seed of the hash by which large directories are ordered: the
/// same in every guest.
const UUID: [u8; 16] = *b"thrashlab-work-1";
/// When it was made, in s since 1970 UTC.
const TIME_S: u32 = 1_577_836_800;

/// Writes an empty file system over the first `size_bytes` of a device that reads as zeros: zeros are
/// not written.
///
/// What does not fill a block, or would be a last group too small for its own tables, stays unused.
/// Fails with fewer than 8 MiB or more than 16 TiB, or when the device cannot be written.
pub(crate) fn format(device: &mut (impl Write + Seek), size_bytes: u64) -> io::Result<()> {
    let geometry = Geometry::of(size_bytes)?;
    let descriptors = records::descriptors(&geometry);
    for (index, group) in geometry.groups.iter().enumerate() {
        let head = head(&geometry, index as u32, group, &descriptors);
        write_at(device, group.first_block, &head)?;
    }
    let inodes = records::first_inodes(&geometry);
    write_at(device, geometry.groups[0].inode_table_block(), &inodes)?;
    write_at(device, geometry.root_block(), &records::root_directory())?;
    write_at(device, geometry.lost_found_block(), &records::lost_found_directory())?;
    let journal = records::journal_superblock(geometry.journal_blocks());
    write_at(device, geometry.journal[0].first_block, &journal)?;
    device.flush()
}

/// What comes before a group's inode table: copies of the superblock and of the descriptors, where
/// the group has them, and its two bitmaps.
fn head(geometry: &Geometry, index: u32, group: &Group, descriptors: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    if group.has_superblock {
        // The first block of a disk begins with room for a boot loader.
        head.resize(if index == 0 { 1024 } else { 0 }, 0);
        head.extend(records::superblock(geometry, index));
        head.resize(BLOCK_BYTES, 0);
        head.extend(descriptors);
    }
    head.extend(bitmap(group.used_blocks, group.blocks));
    head.extend(bitmap(group.used_inodes, geometry.inodes_per_group));
    head
}

/// A bitmap of which the first bits are in use; those behind `count` do not exist, which is also
/// noted as in use.
fn bitmap(used: u32, count: u32) -> Vec<u8> {
    let bit = |index: u32| u8::from(index < used || index >= count);
    (0..GROUP_BLOCKS / 8)
        .map(|byte| (0..8).fold(0, |bits, place| bits | bit(8 * byte + place) << place))
        .collect()
}

fn write_at(device: &mut (impl Write + Seek), block: u32, bytes: &[u8]) -> io::Result<()> {
    device.seek(SeekFrom::Start(u64::from(block) * BLOCK_BYTES as u64))?;
    device.write_all(bytes)
}
