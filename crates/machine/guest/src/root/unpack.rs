//! Unpacks a root's archive, in which directories precede what is in them.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, makedev, mknodat, utimensat};
use tar::{Archive, Entry, EntryType, Header};

/// The unit of copying, in bytes.
const CHUNK_BYTES: usize = 1 << 16;

/// Unpacks everything below a folder. The error names the file.
pub(super) fn unpack(archive: impl Read, folder: &Path) -> Result<(), String> {
    let mut archive = Archive::new(archive);
    let mut folders = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let entries = archive.entries().map_err(|error| format!("read the root's archive: {error}"))?;
    for entry in entries {
        let mut entry = entry.map_err(|error| format!("read the root's archive: {error}"))?;
        let path = folder.join(OsStr::from_bytes(&entry.path_bytes()));
        one(&mut entry, &path, folder, &mut chunk)
            .and_then(|()| {
                if entry.header().entry_type().is_dir() {
                    folders.push((path.clone(), entry.header().mtime()?));
                }
                Ok(())
            })
            .map_err(|error| match error.raw_os_error() {
                Some(_) => format!("unpack {}: {error}", path.display()),
                None => format!("read {} in the root's archive: {error}", path.display()),
            })?;
    }
    // What was made in a folder has changed its time.
    let dated = folders.into_iter().rev().try_for_each(|(path, time_s)| date(&path, time_s));
    dated.map_err(|error| format!("date the root's folders: {error}"))
}

fn one(
    entry: &mut Entry<'_, impl Read>,
    path: &PathBuf,
    folder: &Path,
    chunk: &mut [u8],
) -> io::Result<()> {
    let header = entry.header();
    let (mode, time_s) = (header.mode()? & 0o7777, header.mtime()?);
    let id = |id: u64| u32::try_from(id).map_err(io::Error::other);
    let (user, group) = (id(header.uid()?)?, id(header.gid()?)?);
    let kind = header.entry_type();
    // Other entries have no numbers in these fields.
    let is_device = matches!(kind, EntryType::Char | EntryType::Block);
    let number = |field: fn(&Header) -> io::Result<Option<u32>>| match is_device {
        true => field(header).map(Option::unwrap_or_default),
        false => Ok(0),
    };
    let device = makedev(number(Header::device_major)?, number(Header::device_minor)?);
    let target = entry.link_name_bytes().map(|name| OsStr::from_bytes(&name).to_owned());
    let target = target.unwrap_or_default();
    match kind {
        EntryType::Link => return fs::hard_link(folder.join(target), path),
        EntryType::Symlink => symlink(target, path)?,
        EntryType::Directory => match fs::DirBuilder::new().mode(0o700).create(path) {
            // The file system's own.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        },
        EntryType::Regular => copy(entry, &mut File::create_new(path)?, chunk)?,
        EntryType::Fifo => mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0)?,
        EntryType::Char => mknodat(CWD, path, FileType::CharacterDevice, Mode::RUSR, device)?,
        EntryType::Block => mknodat(CWD, path, FileType::BlockDevice, Mode::RUSR, device)?,
        other => return Err(io::Error::other(format!("an entry of type {other:?}"))),
    }
    lchown(path, Some(user), Some(group))?;
    if kind != EntryType::Symlink {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    date(path, time_s)
}

fn copy(from: &mut impl Read, to: &mut File, chunk: &mut [u8]) -> io::Result<()> {
    loop {
        match from.read(chunk)? {
            0 => return Ok(()),
            count => to.write_all(&chunk[..count])?,
        }
    }
}

fn date(path: &Path, time_s: u64) -> io::Result<()> {
    let time = Timespec { tv_sec: time_s.try_into().unwrap_or(i64::MAX), tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}
