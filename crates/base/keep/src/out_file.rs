//! The one way to write an output file: complete or not at all.
//!
//! A regular file is written without a name and named when complete. A device, a pipe or a socket
//! is written in place. A symbolic link stays; its target is written.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat};
use tempfile::{Builder, TempPath};

use crate::io_results::if_exists;
use crate::patience::open_patiently;

/// Before the umask.
const NEW_FILE_MODE: u32 = 0o666;
/// As in the kernel (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// An output under way. Dropped before [`OutFile::finish`], it leaves everything as it was.
#[derive(Debug)]
pub struct OutFile {
    target: PathBuf,
    pending: Pending,
}

#[derive(Debug)]
enum Pending {
    /// A device, pipe, socket or unnamed file.
    InPlace,
    Unnamed(File),
    /// For file systems without unnamed files.
    Named(TempPath),
}

impl OutFile {
    /// Begins an output; returns its file. Only devices and pipes change before
    /// [`OutFile::finish`]. Fails when `path` names no file, or its folder cannot be written.
    pub fn create(path: &Path) -> io::Result<(Self, File)> {
        // The kernel follows links that are not file names, such as /proc/self/fd/1 to a pipe.
        let former = if_exists(fs::metadata(path))?;
        if former.as_ref().is_some_and(|facts| !facts.is_file() || facts.nlink() == 0) {
            let file = open_patiently(path, OpenOptions::new().write(true))?;
            return Ok((Self { target: path.to_owned(), pending: Pending::InPlace }, file));
        }
        let target = follow(path)?;
        if target.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of a file"));
        }
        if former.is_some() {
            // A file that may not be written is not replaced.
            OpenOptions::new().write(true).open(&target)?;
        }
        let (pending, file) = pending(&target)?;
        if let Some(former) = former {
            keep_access(&file, &former)?;
        }
        Ok((Self { target, pending }, file))
    }

    /// Gives the file its name, replacing a former one. Fails, changing nothing, if it cannot.
    pub fn finish(self) -> io::Result<()> {
        let named = match self.pending {
            Pending::InPlace => return Ok(()),
            Pending::Named(named) => named,
            Pending::Unnamed(file) => {
                let link = |name: &Path| {
                    Ok(linkat(CWD, entry(&file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
                };
                builder(&prefix(&self.target)).make_in(folder(&self.target), link)?.into_temp_path()
            }
        };
        named.persist(&self.target).map_err(|refused| refused.error)
    }
}

/// Writes a file as [`OutFile`] does. Fails as [`OutFile::create`], or when the disk is full.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (out, mut file) = OutFile::create(path)?;
    file.write_all(bytes)?;
    out.finish()
}

/// Follows symbolic links to the final path, whether it exists or not.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = folder(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links"))
}

fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// An empty unnamed file in the folder of `target`.
fn pending(target: &Path) -> io::Result<(Pending, File)> {
    let mode = Mode::from_raw_mode(NEW_FILE_MODE);
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(folder(target), flags, mode) {
        let file = File::from(file);
        if entry(&file).exists() {
            return Ok((Pending::Unnamed(file.try_clone()?), file));
        }
    }
    let (file, path) = builder(&prefix(target))
        .permissions(Permissions::from_mode(NEW_FILE_MODE))
        .tempfile_in(folder(target))?
        .into_parts();
    Ok((Pending::Named(path), file))
}

/// The kernel's path of an open file, through which it can be named (open(2)).
fn entry(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn prefix(target: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push(".");
    prefix
}

fn builder(prefix: &OsString) -> Builder<'_, 'static> {
    let mut builder = Builder::new();
    builder.prefix(prefix).suffix(".part");
    builder
}

/// Keeps owner and permissions of the former file.
fn keep_access(file: &File, former: &Metadata) -> io::Result<()> {
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (former.uid(), former.gid()) {
        // Only root may give a file away.
        let _ = std::os::unix::fs::fchown(file, Some(former.uid()), Some(former.gid()));
    }
    file.set_permissions(Permissions::from_mode(former.mode() & 0o777))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_output_is_there_complete_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.tlt");
        let (out, mut file) = OutFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(out);
        assert!(names(folder.path()).is_empty());
        for text in ["first", "second"] {
            write_whole(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let (out, mut file) = OutFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop((out, file));
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(names(folder.path()), ["t.tlt"]);
    }

    #[test]
    fn a_file_system_without_unnamed_files_gets_the_same_result() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("f");
        let named = builder(&prefix(&target)).tempfile_in(folder.path()).unwrap();
        let pending = Pending::Named(named.into_temp_path());
        assert!(names(folder.path())[0].starts_with(".f."));
        OutFile { target: target.clone(), pending }.finish().unwrap();
        assert_eq!(names(folder.path()), ["f"]);
    }

    #[test]
    fn a_symbolic_link_stays_and_its_target_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        fs::create_dir(&below).unwrap();
        let link = folder.path().join("link");
        symlink("below/file", &link).unwrap();
        for text in ["new", "replaced"] {
            write_whole(&link, text.as_bytes()).unwrap();
            assert!(link.is_symlink());
            assert_eq!(fs::read_to_string(below.join("file")).unwrap(), text);
        }
        assert_eq!((names(folder.path()).len(), names(&below).len()), (2, 1));
        let ring = folder.path().join("ring");
        symlink("ring", &ring).unwrap();
        assert!(write_whole(&ring, b"x").is_err());
        assert!(ring.is_symlink());
    }

    #[test]
    fn a_pipe_is_written_through_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            }
        });
        write_whole(&pipe, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(!fs::symlink_metadata(&pipe).unwrap().is_file());
        assert_eq!(names(folder.path()), ["pipe"]);
    }

    #[test]
    fn a_pipe_without_a_name_is_written_through() {
        let (mut reader, writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        write_whole(Path::new(&path), b"through").unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }

    #[test]
    fn access_to_a_file_stays_as_it_was_and_a_new_one_has_the_usual() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let usual = folder.path().join("usual");
        fs::write(&usual, "").unwrap();
        let new = folder.path().join("new");
        write_whole(&new, b"x").unwrap();
        assert_eq!(mode(&new), mode(&usual));
        fs::set_permissions(&new, Permissions::from_mode(0o640)).unwrap();
        write_whole(&new, b"y").unwrap();
        assert_eq!(mode(&new), 0o640);
    }

    #[test]
    fn a_folder_or_no_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path(), &folder.path().join("x/.."), Path::new("/"), Path::new("")] {
            assert!(write_whole(path, b"x").is_err(), "{path:?}");
        }
        assert!(write_whole(&folder.path().join("missing/file"), b"x").is_err());
        assert!(names(folder.path()).is_empty());
    }
}
