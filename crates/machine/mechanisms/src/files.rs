//! Mechanisms of files, on the file system of the current folder.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

use rustix::fs::{Advice, fadvise};

use crate::processes::timed;

/// Size of a page: no larger one is ever used, so that all kernels do the same work.
pub(crate) const PAGE_BYTES: usize = 4096;

/// A file of the current folder that is removed when it is dropped.
pub(crate) struct Scratch {
    pub(crate) file: File,
    path: PathBuf,
}

impl Scratch {
    fn make() -> io::Result<Self> {
        let path = PathBuf::from(format!("mechanism-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        Ok(Self { file, path })
    }

    /// A file of some pages, in the page cache.
    pub(crate) fn of_pages(count: u32) -> io::Result<Self> {
        let mut scratch = Self::make()?;
        for _ in 0..count {
            scratch.file.write_all(&[1; PAGE_BYTES])?;
        }
        scratch.file.rewind()?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A file that exists, by its name in the current folder.
pub(crate) fn open(count: u32) -> io::Result<f64> {
    let scratch = Scratch::make()?;
    timed(count, || File::open(&scratch.path).map(drop))
}

/// A page of a file that is in memory, over and over.
pub(crate) fn write(count: u32) -> io::Result<f64> {
    let mut scratch = Scratch::of_pages(1)?;
    timed(count, || {
        scratch.file.rewind()?;
        scratch.file.write_all(&[2; PAGE_BYTES])
    })
}

/// A file that is on disk only, from its beginning to its end.
pub(crate) fn read_ahead(count: u32) -> io::Result<f64> {
    let mut scratch = Scratch::of_pages(count)?;
    scratch.file.sync_all()?;
    fadvise(&scratch.file, 0, None, Advice::DontNeed)?;
    let mut page = [0; PAGE_BYTES];
    timed(count, || scratch.file.read_exact(&mut page))
}

/// A new file that is written as fast as the kernel permits.
pub(crate) fn throttling(count: u32) -> io::Result<f64> {
    let mut scratch = Scratch::make()?;
    timed(count, || scratch.file.write_all(&[3; PAGE_BYTES]))
}
