//! A file that is there when it is complete, or not at all.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// A file that is written under another name beside its own.
pub(crate) struct OutFile {
    path: PathBuf,
    /// Its name until then; none if it is written in place, as a pipe or a terminal is.
    temporary: Option<PathBuf>,
}

impl OutFile {
    /// Begins a file; `-` is standard output.
    pub(crate) fn create(path: &Path) -> io::Result<(Self, File)> {
        let in_place = |file| Ok((Self { path: path.to_owned(), temporary: None }, file));
        if path.as_os_str() == "-" {
            return in_place(File::from(io::stdout().as_fd().try_clone_to_owned()?));
        }
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return in_place(OpenOptions::new().write(true).open(path)?);
        }
        let Some(name) = path.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no name of a file"));
        };
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", std::process::id()));
        let temporary = path.with_file_name(hidden);
        let file = File::create(&temporary)?;
        Ok((Self { path: path.to_owned(), temporary: Some(temporary) }, file))
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.temporary.take() {
            Some(temporary) => fs::rename(temporary, &self.path),
            None => Ok(()),
        }
    }
}

impl Drop for OutFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // There is nobody to tell; the name says what it is.
            let _ = fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.tlt");
        fs::write(&path, "before").unwrap();
        let (out, mut file) = OutFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(out);
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let (out, mut file) = OutFile::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        out.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
