//! Reads a file of QEMU's fw_cfg device by DMA (`docs/specs/fw_cfg.rst` of QEMU): the device copies
//! whole pages during one instruction, without driver, interrupt or delay.
//!
//! **Invariant:** the device writes only to pages of this module's own mapping, whose physical
//! addresses are looked up before each use and again afterwards: the read fails if the kernel has
//! moved a page in between. Locked pages are moved only by memory compaction, which the caller turns
//! off (`vm.compact_unevictable_allowed`), because the device would then write to a page that has
//! another owner.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{Ordering, compiler_fence};

use crate::fw_cfg::FwCfg;
use crate::memory::Mapping;

const SELECT: u32 = 1 << 3;
const READ: u32 = 1 << 1;
const FAILED: u32 = 1;
const PAGE_BYTES: usize = 4096;
/// Pages with content that are filled at a time; the page before them holds the request.
const PAGES: usize = 64;
/// Present, in an entry of `/proc/PID/pagemap`.
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;

/// A file of the device, read from its beginning to its end.
#[derive(Debug)]
pub struct FwCfgFile {
    device: FwCfg,
    pages: Mapping,
    pagemap: File,
    key: u16,
    is_selected: bool,
    left_bytes: u64,
    /// What was filled and not read yet, as offsets in the mapping.
    filled: Range<usize>,
}

impl FwCfgFile {
    /// The file with this key and size. Fails without the privileges for its registers and physical
    /// addresses, or for locked memory.
    pub fn open(key: u16, size_bytes: u64) -> io::Result<Self> {
        let pages = Mapping::anonymous((1 + PAGES) * PAGE_BYTES)?;
        pages.touch(PAGE_BYTES, 0);
        // SAFETY: locks pages of our own mapping, which are unlocked when it is unmapped.
        crate::done(unsafe { libc::mlock(pages.start().as_ptr().cast(), pages.size_bytes()) })?;
        Ok(Self {
            device: FwCfg::open()?,
            pages,
            pagemap: File::open("/proc/self/pagemap")?,
            key,
            is_selected: false,
            left_bytes: size_bytes,
            filled: 0..0,
        })
    }

    /// The physical addresses of the pages. Fails if the kernel does not show one.
    fn addresses(&self) -> io::Result<[u64; 1 + PAGES]> {
        let mut entries = [0; 8 * (1 + PAGES)];
        let first = self.pages.start().as_ptr().expose_provenance() / PAGE_BYTES;
        self.pagemap.read_exact_at(&mut entries, 8 * first as u64)?;
        let mut addresses = [0; 1 + PAGES];
        for (address, entry) in addresses.iter_mut().zip(entries.chunks_exact(8)) {
            let entry = entry.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            if entry & PRESENT == 0 || entry & FRAME == 0 {
                return Err(io::Error::other("a locked page has no physical address"));
            }
            *address = (entry & FRAME) * PAGE_BYTES as u64;
        }
        Ok(addresses)
    }

    fn fill(&mut self) -> io::Result<()> {
        let addresses = self.addresses()?;
        self.filled = PAGE_BYTES..PAGE_BYTES;
        for address in &addresses[1..] {
            let length = self.left_bytes.min(PAGE_BYTES as u64);
            if length == 0 {
                break;
            }
            self.request(addresses[0], *address, length as u32)?;
            self.left_bytes -= length;
            self.filled.end += length as usize;
        }
        match self.addresses()? == addresses {
            true => Ok(()),
            false => Err(io::Error::other("the kernel has moved a locked page during DMA")),
        }
    }

    /// Lets the device copy the next bytes of the file to a physical address, at most a page.
    fn request(&mut self, request: u64, address: u64, length: u32) -> io::Result<()> {
        let select = if self.is_selected { 0 } else { SELECT | u32::from(self.key) << 16 };
        self.is_selected = true;
        let fields = [select | READ, length, (address >> 32) as u32, address as u32];
        for (index, field) in fields.into_iter().enumerate() {
            for (byte, value) in field.to_be_bytes().into_iter().enumerate() {
                self.pages.write(4 * index + byte, value);
            }
        }
        compiler_fence(Ordering::SeqCst);
        self.device.execute(request);
        compiler_fence(Ordering::SeqCst);
        let control = (0..4).fold(0, |word, at| word << 8 | u32::from(self.pages.read(at)));
        match control {
            0 => Ok(()),
            _ if control & FAILED != 0 => Err(io::Error::other("fw_cfg refuses to copy a file")),
            _ => Err(io::Error::other("fw_cfg has no DMA: this QEMU is too old")),
        }
    }
}

impl Read for FwCfgFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.filled.is_empty() && self.left_bytes > 0 {
            self.fill()?;
        }
        let count = bytes.len().min(self.filled.len());
        // SAFETY: `filled` is inside of the mapping, which nothing changes between requests, and
        // which no slice of Rust's can overlap.
        unsafe {
            let from = self.pages.start().as_ptr().add(self.filled.start);
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), count);
        }
        self.filled.start += count;
        Ok(count)
    }
}
