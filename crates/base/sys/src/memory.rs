//! Memory mappings whose pages are touched byte by byte, and locking memory.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use rustix::mm::{MlockAllFlags, mlockall, munlockall};

use crate::done;

/// Size of a mask of 64 nodes, of which the kernel reads one bit fewer (`mm/mempolicy.c`).
pub(crate) const MASK_BITS: libc::c_ulong = 64 + 1;

/// A private or shared mapping, unmapped when dropped. Access is volatile: no touch is optimised
/// away, and no reference aliases bytes that another process changes.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    size_bytes: usize,
}

/// Advice on the pages of a mapping (`madvise(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Huge pages where they fit (`MADV_HUGEPAGE`).
    Huge,
    /// Small pages only (`MADV_NOHUGEPAGE`).
    Small,
    /// No read-ahead (`MADV_RANDOM`).
    Random,
}

/// Where the pages of a part of a mapping come from (`mbind(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The policy of the process; by default the node of the first touch, which may change.
    OfProcess,
    /// The node that first touches them; the kernel never moves them.
    Local,
    /// This node, from 0 to 63, as long as it has free memory.
    Prefer(u32),
}

impl Mapping {
    /// Maps fresh anonymous private memory. Fails for a size of 0, or at a limit.
    pub fn anonymous(size_bytes: usize) -> io::Result<Self> {
        Self::map_memory(size_bytes, false, 0)
    }

    /// Maps fresh anonymous memory, as [`Mapping::anonymous`], shared with later children.
    pub fn shared(size_bytes: usize) -> io::Result<Self> {
        Self::map_memory(size_bytes, true, 0)
    }

    /// Maps the first `size_bytes` of a file, shared and writable; pages beyond its end raise
    /// SIGBUS. Fails when the size is 0 or larger than the file, or the kernel refuses.
    pub fn file_shared(file: &File, size_bytes: usize) -> io::Result<Self> {
        check_length(file, size_bytes)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        Self::map(size_bytes, protection, libc::MAP_SHARED, file.as_raw_fd())
    }

    /// Maps the first `size_bytes` of a file for reading, as a program's text; fails as above.
    pub fn file_read_only(file: &File, size_bytes: usize) -> io::Result<Self> {
        check_length(file, size_bytes)?;
        Self::map(size_bytes, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd())
    }

    pub(crate) fn map_memory(
        size_bytes: usize,
        shared: bool,
        more: libc::c_int,
    ) -> io::Result<Self> {
        let kind = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
        let flags = kind | libc::MAP_ANONYMOUS | more;
        Self::map(size_bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1)
    }

    /// Takes over an existing mapping.
    ///
    /// # Safety
    /// `size_bytes` from the page `start` are mapped, readable and writable, and only the caller
    /// knows of them.
    pub(crate) unsafe fn from_raw(start: *mut libc::c_void, size_bytes: usize) -> io::Result<Self> {
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Self { start, size_bytes })
    }

    fn map(
        size_bytes: usize,
        protection: libc::c_int,
        flags: libc::c_int,
        fd: libc::c_int,
    ) -> io::Result<Self> {
        // SAFETY: without MAP_FIXED a new mapping overlaps no memory that Rust knows.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), size_bytes, protection, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: mapped just now, for nobody else.
        unsafe { Self::from_raw(start, size_bytes) }
    }

    /// Size of the mapping in bytes.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Writes one byte; an offset outside the mapping does nothing. If the mapping is read-only, the
    /// process ends (SIGSEGV).
    pub fn write(&self, offset: usize, value: u8) {
        if offset < self.size_bytes {
            // SAFETY: the offset is inside a live mapping; volatile, so no reference is formed.
            unsafe { self.start.as_ptr().add(offset).write_volatile(value) }
        }
    }

    /// Reads one byte; an offset outside the mapping reads 0.
    pub fn read(&self, offset: usize) -> u8 {
        if offset >= self.size_bytes {
            return 0;
        }
        // SAFETY: the offset is inside a live mapping that is always readable.
        unsafe { self.start.as_ptr().add(offset).read_volatile() }
    }

    /// Writes one byte in each step of `step_bytes`.
    pub fn touch(&self, step_bytes: usize, value: u8) {
        self.write_each((0..self.size_bytes).step_by(step_bytes.max(1)), value);
    }

    /// Reads every byte of a range of offsets that lies in the mapping; their sum.
    pub fn scan(&self, range: Range<usize>) -> u64 {
        let end = range.end.min(self.size_bytes);
        let mut sum: u64 = 0;
        for offset in range.start..end {
            // SAFETY: the offset is inside a live mapping that is always readable.
            let byte = unsafe { self.start.as_ptr().add(offset).read_volatile() };
            sum = sum.wrapping_add(u64::from(byte));
        }
        sum
    }

    /// Fills the mapping from `fill(offset)` in words of eight bytes (a rest stays as it is).
    pub fn fill(&self, mut fill: impl FnMut() -> u64) {
        for offset in (0..self.size_bytes / 8 * 8).step_by(8) {
            // SAFETY: eight bytes from `offset` are inside the mapping, which begins at a page.
            unsafe { self.start.as_ptr().add(offset).cast::<u64>().write_volatile(fill()) }
        }
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range that mmap returned; every borrow of it is bound to `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size_bytes) };
    }
}

fn check_length(file: &File, size_bytes: usize) -> io::Result<()> {
    let length_bytes = file.metadata()?.len();
    if length_bytes < size_bytes as u64 {
        let text = format!("the file has {length_bytes} bytes, the mapping needs {size_bytes}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(())
}

/// Memory that a locked process must be able to allocate, in bytes.
const ROOM_BYTES: usize = 256 << 20;

/// Locks all present and future pages of this process into memory. Fails without the privilege, or
/// when `RLIMIT_MEMLOCK` is too small for what it has and will allocate; then nothing is locked,
/// because an allocation beyond the limit would end it.
pub fn lock_all() -> io::Result<()> {
    lock(MlockAllFlags::empty())
}

/// Locks the pages that this process has touched and will touch: what it never uses stays outside
/// of memory. Fails as [`lock_all`].
pub fn lock_touched() -> io::Result<()> {
    lock(MlockAllFlags::ONFAULT)
}

fn lock(which: MlockAllFlags) -> io::Result<()> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | which)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // Inaccessible memory costs nothing, but counts against the limit.
    Mapping::map(ROOM_BYTES, libc::PROT_NONE, flags, -1).map(drop).inspect_err(|_| {
        let _ = munlockall();
    })
}

/// Has NUMA nodes from 0 to `nodes` − 1 provide the memory that this thread allocates from now on, or
/// the kernel for it, in turn (`set_mempolicy(2)`); with one, the nearest node provides it. Fails for
/// more than 63, or nodes that do not exist.
pub fn interleave(nodes: u8) -> io::Result<()> {
    if nodes <= 1 {
        return set_policy(libc::MPOL_DEFAULT, 0);
    }
    let beyond = || io::Error::new(io::ErrorKind::InvalidInput, "more than 63 nodes");
    let first_beyond = 1_u64.checked_shl(u32::from(nodes)).ok_or_else(beyond)?;
    set_policy(libc::MPOL_INTERLEAVE, first_beyond - 1)
}

fn set_policy(mode: libc::c_int, nodes: u64) -> io::Result<()> {
    let mask = if nodes == 0 { std::ptr::null() } else { std::ptr::from_ref(&nodes) };
    // SAFETY: the kernel reads the mask, of the size that it is given, and keeps no reference.
    done(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask, MASK_BITS) as libc::c_int })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_memory_is_zero_and_keeps_what_is_written() {
        let mapping = Mapping::anonymous(8192).unwrap();
        assert_eq!(mapping.scan(0..8192), 0);
        mapping.touch(4096, 3);
        assert_eq!(mapping.scan(0..8192), 6);
        mapping.write(9999, 1);
        assert_eq!(mapping.read(9999), 0);
    }

    #[test]
    fn a_mapping_larger_than_its_file_is_refused() {
        let file = File::open("/proc/self/exe").unwrap();
        assert!(Mapping::file_read_only(&file, usize::MAX / 2).is_err());
        assert!(Mapping::anonymous(0).is_err());
    }
}
