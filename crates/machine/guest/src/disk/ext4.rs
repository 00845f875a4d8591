//! Writes an empty ext4 file system, deterministically, after the kernel's
//! `Documentation/filesystems/ext4`: 4 KiB blocks, 256-byte inodes, journal, extents, indexed
//! directories, sparse superblocks; no checksums, flexible groups or growth reserve. Counts follow
//! `mke2fs`.
//!
//! **Invariant:** the used part of a group is its beginning, without gaps (see `geometry`).

mod geometry;
mod records;
#[cfg(test)]
mod tests;

use std::io::{self, Seek, SeekFrom, Write};

use geometry::{Geometry, Group};

const BLOCK_BYTES: usize = 4096;
/// As many as one block has bits; the last group may have fewer.
const GROUP_BLOCKS: u32 = 8 * BLOCK_BYTES as u32;
const INODE_BYTES: usize = 256;
const ROOT_INODE: u32 = 2;
const JOURNAL_INODE: u32 = 8;
/// The first inode that is not reserved.
const LOST_FOUND_INODE: u32 = 11;
/// Allocated in advance, for emergencies.
const LOST_FOUND_BLOCKS: u32 = 4;

/// Also the seed of directory hashes; the same in every guest.
const UUID: [u8; 16] = *b"thrashlab-work-1";
/// Creation time, in s since 1970.
const TIME_S: u32 = 1_577_836_800;

/// Writes an empty file system over the first `size_bytes` of a zeroed device. Incomplete blocks
/// and a last group too small for its tables stay unused. Fails below 8 MiB, above 16 TiB, or when
/// the device cannot be written.
pub(crate) fn format(device: &mut (impl Write + Seek), size_bytes: u64) -> io::Result<()> {
    let geometry = Geometry::for_size(size_bytes)?;
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

/// The start of a group: copies of superblock and descriptors where it has them, and two bitmaps.
fn head(geometry: &Geometry, index: u32, group: &Group, descriptors: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    if group.has_superblock {
        // Room for a boot loader.
        head.resize(if index == 0 { 1024 } else { 0 }, 0);
        head.extend(records::superblock(geometry, index));
        head.resize(BLOCK_BYTES, 0);
        head.extend(descriptors);
    }
    head.extend(bitmap(group.used_blocks, group.blocks));
    head.extend(bitmap(group.used_inodes, geometry.inodes_per_group));
    head
}

/// A bitmap with the first bits used; those from `count` on do not exist and count as used.
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
