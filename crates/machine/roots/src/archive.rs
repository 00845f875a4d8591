//! A tree as one tar file of a fixed form: what a guest unpacks, and what a root is known by. Equal
//! trees are equal bytes.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tar::{Builder, EntryType, Header};

use crate::spool::{Part, Stoppable};
use crate::tree::{Entry, Kind, Tree};

/// Directories whose content the guest's kernel provides.
const OF_KERNEL: [&[u8]; 3] = [b"dev/", b"proc/", b"sys/"];
const PAGE_BYTES: u64 = 4096;

/// What a root needs and is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// BLAKE3 of the archive.
    pub blake3: String,
    /// Files, directories and links.
    pub entries: u64,
    /// What the files take in whole pages, in bytes.
    pub size_bytes: u64,
    /// The latest time of a file, in s since 1970.
    pub newest_s: u64,
    /// Variables that an image gives its programs.
    #[serde(default)]
    pub environment: Vec<(String, String)>,
}

/// Writes the archive. Fails when the disk is full, the spool cannot be read, the archive is too large
/// for a guest, or the user wants to stop.
pub(crate) fn write(
    tree: &Tree,
    spool: &File,
    to: File,
    stop: &dyn Fn() -> bool,
) -> io::Result<Contents> {
    let mut contents = Contents::default();
    let out =
        Hashing { file: io::BufWriter::with_capacity(1 << 18, to), hasher: blake3::Hasher::new() };
    let source = Spooled { spool, stop };
    let mut builder = Builder::new(out);
    let mut written: HashMap<u64, &[u8]> = HashMap::new();
    for (path, entry) in tree.entries() {
        if OF_KERNEL.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        contents.entries += 1;
        contents.newest_s = contents.newest_s.max(entry.attributes.modified_s);
        contents.size_bytes += append(&mut builder, path, entry, &source, &mut written)?;
    }
    let Hashing { file, hasher } = builder.into_inner()?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    check_size(file.metadata()?.len())?;
    Ok(Contents { blake3: hasher.finalize().to_hex().to_string(), ..contents })
}

/// The size of a fw_cfg file is a 32-bit number.
fn check_size(bytes: u64) -> io::Result<()> {
    match u32::try_from(bytes) {
        Ok(_) => Ok(()),
        Err(_) => {
            let why = format!("its archive has {bytes} bytes; a guest takes less than 4 GiB");
            Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
        }
    }
}

struct Spooled<'a> {
    spool: &'a File,
    stop: &'a dyn Fn() -> bool,
}

/// Returns the bytes that it takes in whole pages.
fn append<'a>(
    builder: &mut Builder<Hashing>,
    path: &'a [u8],
    entry: &Entry,
    source: &Spooled<'_>,
    written: &mut HashMap<u64, &'a [u8]>,
) -> io::Result<u64> {
    let as_path = |bytes: &'a [u8]| Path::new(OsStr::from_bytes(bytes));
    let attributes = entry.attributes;
    let mut header = Header::new_gnu();
    header.set_mode(attributes.mode);
    header.set_uid(attributes.uid);
    header.set_gid(attributes.gid);
    header.set_mtime(attributes.modified_s);
    header.set_size(0);
    match &entry.kind {
        Kind::File(content) => {
            if let Some(first) = written.insert(content.number, path) {
                written.insert(content.number, first);
                header.set_entry_type(EntryType::Link);
                builder.append_link(&mut header, as_path(path), as_path(first))?;
                return Ok(0);
            }
            header.set_entry_type(EntryType::Regular);
            header.set_size(content.size_bytes);
            let (offset, left_bytes) = (content.offset, content.size_bytes);
            let part = Part { file: source.spool, offset, left_bytes };
            let part = Stoppable { from: part, stop: source.stop };
            builder.append_data(&mut header, as_path(path), part)?;
            return Ok(content.size_bytes.next_multiple_of(PAGE_BYTES));
        }
        Kind::Link(target) => {
            header.set_entry_type(EntryType::Symlink);
            let target = OsStr::from_bytes(target);
            builder.append_link(&mut header, as_path(path), Path::new(target))?;
            return Ok(0);
        }
        Kind::Directory => header.set_entry_type(EntryType::Directory),
        Kind::Fifo => header.set_entry_type(EntryType::Fifo),
        Kind::Device { is_block, major, minor } => {
            header.set_entry_type(if *is_block { EntryType::Block } else { EntryType::Char });
            header.set_device_major(*major)?;
            header.set_device_minor(*minor)?;
        }
    }
    builder.append_data(&mut header, as_path(path), io::empty())?;
    Ok(if entry.kind == Kind::Directory { PAGE_BYTES } else { 0 })
}

struct Hashing {
    file: io::BufWriter<File>,
    hasher: blake3::Hasher,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_no_guest_can_get_is_refused() {
        assert!(check_size((1 << 32) - 1).is_ok());
        assert!(check_size(1 << 32).unwrap_err().to_string().contains("less than 4 GiB"));
    }
}
