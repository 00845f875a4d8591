//! File systems are checked twice: by a small checker of its own, and by `e2fsck` where there is
//! one.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

use super::*;

#[path = "../../../../../../tests/skip.rs"]
mod skip;

const MIB: u64 = 1 << 20;
const GROUP_BYTES: u64 = GROUP_BLOCKS as u64 * BLOCK_BYTES as u64;

/// Sizes at which something changes: the journal, the inodes, the groups, the last one's tables.
const SIZES_BYTES: [u64; 15] = [
    8 * MIB,
    8 * MIB + 5000,
    GROUP_BYTES - 4096,
    GROUP_BYTES,
    GROUP_BYTES + 4096,
    GROUP_BYTES + 9 * MIB,
    2 * GROUP_BYTES + 7 * MIB + 513,
    512 * MIB - 4096,
    512 * MIB,
    1024 * MIB,
    1024 * MIB + 2 * MIB + 200 * 1024,
    2048 * MIB + 777,
    4096 * MIB,
    4096 * MIB + 3 * MIB,
    17 * 1024 * MIB,
];

/// Reads numbers of a file system in a file.
struct Image(File);

impl Image {
    fn make(path: &Path, size_bytes: u64) -> Self {
        let mut file =
            File::options().create(true).truncate(true).read(true).write(true).open(path).unwrap();
        file.set_len(size_bytes).unwrap();
        format(&mut file, size_bytes).unwrap();
        assert_eq!(file.metadata().unwrap().len(), size_bytes, "nothing is written past the end");
        Self(file)
    }

    fn bytes<const N: usize>(&self, at: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read_exact_at(&mut bytes, at).unwrap();
        bytes
    }

    fn block(&self, block: u32) -> [u8; BLOCK_BYTES] {
        self.bytes(u64::from(block) * BLOCK_BYTES as u64)
    }

    fn u16(&self, at: u64) -> u32 {
        u16::from_le_bytes(self.bytes(at)).into()
    }

    fn u32(&self, at: u64) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    /// The blocks of an inode, read through its extents.
    fn blocks_of_inode(&self, inode_table: u32, number: u32) -> Vec<u32> {
        let inode = u64::from(inode_table) * 4096 + u64::from(number - 1) * 256;
        let extents = inode + 0x28;
        let mut blocks = Vec::new();
        for index in 1..=u64::from(self.u16(extents + 2)) {
            let at = extents + 12 * index;
            assert_eq!(self.u32(at) as usize, blocks.len(), "extents follow each other");
            blocks.extend((0..self.u16(at + 4)).map(|block| self.u32(at + 8) + block));
        }
        assert_eq!(self.u32(inode + 4) as usize, blocks.len() * BLOCK_BYTES, "size of {number}");
        assert_eq!(self.u32(inode + 0x1c) as usize, blocks.len() * 8, "sectors of {number}");
        blocks
    }
}

/// Whether each place of a bitmap is in use.
fn bits(bitmap: &[u8; BLOCK_BYTES]) -> Vec<bool> {
    bitmap.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)).collect()
}

/// How many of them are not.
fn free(bits: &[bool]) -> u32 {
    bits.iter().filter(|used| !**used).count() as u32
}

/// Checks that every block has at most one owner, and that bitmaps, descriptors and superblock
/// agree with who owns what.
fn check(image: &Image) {
    let superblock = 1024;
    let (inodes, blocks) = (image.u32(superblock), image.u32(superblock + 4));
    let inodes_per_group = image.u32(superblock + 0x28);
    let groups = blocks.div_ceil(GROUP_BLOCKS);
    assert_eq!(inodes, inodes_per_group * groups);

    let descriptor = |group: u32| 4096 + 32 * u64::from(group);
    let descriptor_blocks = (32 * groups).div_ceil(4096);
    let mut owned = vec![false; blocks as usize];
    let mut own = |block: u32| {
        let owned = &mut owned[block as usize];
        assert!(!*owned, "block {block} has two owners");
        *owned = true;
    };
    let first_table = image.u32(descriptor(0) + 8);
    for number in [ROOT_INODE, LOST_FOUND_INODE, JOURNAL_INODE] {
        image.blocks_of_inode(first_table, number).into_iter().for_each(&mut own);
    }
    for group in 0..groups {
        let start = group * GROUP_BLOCKS;
        if image.u32(u64::from(start) * 4096 + if group == 0 { 1024 } else { 0 } + 4) == blocks {
            (start..=start + descriptor_blocks).for_each(&mut own);
        }
        own(image.u32(descriptor(group)));
        own(image.u32(descriptor(group) + 4));
        let table = image.u32(descriptor(group) + 8);
        (table..table + inodes_per_group / 16).for_each(&mut own);
    }
    let (mut free_blocks, mut free_inodes) = (0, 0);
    for (group, mut expected) in (0..).zip(owned.chunks(GROUP_BLOCKS as usize).map(Vec::from)) {
        // Blocks past the end count as used.
        expected.resize(GROUP_BLOCKS as usize, true);
        assert!(bits(&image.block(image.u32(descriptor(group)))) == expected, "group {group}");
        assert_eq!(image.u16(descriptor(group) + 0xc), free(&expected));
        free_blocks += free(&expected);

        let mut expected = vec![true; GROUP_BLOCKS as usize];
        let first = if group == 0 { LOST_FOUND_INODE } else { 0 };
        expected[first as usize..inodes_per_group as usize].fill(false);
        assert!(bits(&image.block(image.u32(descriptor(group) + 4))) == expected, "group {group}");
        assert_eq!(image.u16(descriptor(group) + 0xe), free(&expected));
        free_inodes += free(&expected);
    }
    assert_eq!(image.u32(superblock + 0xc), free_blocks);
    assert_eq!(image.u32(superblock + 0x10), free_inodes);
}

/// What `e2fsck` finds wrong; `None` where it is not installed.
fn e2fsck(path: &Path) -> Option<Result<(), String>> {
    let run = |program| Command::new(program).arg("-fn").arg(path).output().ok();
    // Users other than root often have no /sbin in their PATH.
    let output = run("e2fsck").or_else(|| run("/sbin/e2fsck"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(if output.status.success() { Ok(()) } else { Err(text) })
}

#[test]
fn at_sizes_where_something_changes_everything_agrees() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    for size_bytes in SIZES_BYTES {
        check(&Image::make(&path, size_bytes));
    }
}

#[test]
fn e2fsck_finds_nothing_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    for size_bytes in SIZES_BYTES {
        Image::make(&path, size_bytes);
        match e2fsck(&path) {
            None => return skip::skip("e2fsck_finds_nothing_wrong", "e2fsck is not installed"),
            Some(verdict) => assert_eq!(verdict, Ok(()), "{size_bytes} bytes"),
        }
    }
}

#[test]
fn the_same_arguments_give_the_same_bytes() {
    let size_bytes = 9 * MIB + 100;
    let make = || {
        let mut device = std::io::Cursor::new(vec![0; size_bytes as usize]);
        format(&mut device, size_bytes).unwrap();
        device.into_inner()
    };
    assert_eq!(make(), make());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn at_any_size_everything_agrees(size_bytes in 8 * MIB..3072 * MIB) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        check(&Image::make(&path, size_bytes));
        if let Some(verdict) = e2fsck(&path) {
            prop_assert_eq!(verdict, Ok(()));
        }
    }
}
