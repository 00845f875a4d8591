//! The folder of unpacked packages: complete or not there.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::KernelError;
use crate::package::visit_package;

/// Lists every file of an unpacked package with its size and time; written last.
const LIST: &str = "contents";
/// The first line of the list; another layout gets another line.
const LIST_HEAD: &str = "thrashlab kernel 2";
const LIST_TAIL: &str = "end";
/// How names of folders begin that are not complete yet.
const UNFINISHED: &str = ".unfinished-";
/// Unfinished folders that are older belong to nobody any more.
const UNFINISHED_AGE: Duration = Duration::from_secs(3600);

/// A folder of unpacked packages.
#[derive(Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// The cache in a folder, which is made if it is missing.
    pub(crate) fn open(dir: &Path) -> Result<Self, KernelError> {
        fs::create_dir_all(dir).map_err(KernelError::io(dir))?;
        let cache = Self { dir: dir.to_owned() };
        cache.sweep();
        Ok(cache)
    }

    /// The folder of that key, if it is there and complete.
    pub(crate) fn find(&self, key: &str) -> Option<PathBuf> {
        let dir = self.dir.join(key);
        is_complete(&dir).then_some(dir)
    }

    /// The names of all folders.
    pub(crate) fn keys(&self) -> Vec<String> {
        fs::read_dir(&self.dir)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.') && self.dir.join(name).join(LIST).is_file())
            .collect()
    }

    /// The folder of a key, as a path.
    pub(crate) fn path(&self, key: &str) -> PathBuf {
        self.dir.join(key)
    }

    /// A new folder in the cache, removed when it goes out of scope.
    pub(crate) fn scratch(&self) -> Result<tempfile::TempDir, KernelError> {
        tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(&self.dir)
            .map_err(KernelError::io(&self.dir))
    }

    /// Unpacks packages into one folder of the cache, if `accept` does not refuse what is in them.
    /// Others see all of it or nothing.
    pub(crate) fn unpack(
        &self,
        key: &str,
        packages: &[PathBuf],
        accept: impl FnOnce(&Path) -> Result<(), KernelError>,
    ) -> Result<PathBuf, KernelError> {
        let scratch = self.scratch()?;
        let mut list = vec![LIST_HEAD.to_owned()];
        for package in packages {
            unpack_into(scratch.path(), package, &mut list)?;
        }
        accept(scratch.path())?;
        list.push(LIST_TAIL.to_owned());
        let list_path = scratch.path().join(LIST);
        fs::write(&list_path, list.join("\n")).map_err(KernelError::io(&list_path))?;

        let dir = self.dir.join(key);
        // Somebody else may have been quicker; what is damaged goes to be removed.
        let damaged = self.scratch()?;
        if dir.exists() && !is_complete(&dir) {
            fs::rename(&dir, damaged.path().join("damaged")).map_err(KernelError::io(&dir))?;
        }
        let unpacked = scratch.keep();
        match fs::rename(&unpacked, &dir) {
            Ok(()) => Ok(dir),
            Err(error) => {
                let _ = fs::remove_dir_all(&unpacked);
                if is_complete(&dir) { Ok(dir) } else { Err(KernelError::io(&dir)(error)) }
            }
        }
    }

    /// Removes what processes that were killed have left behind.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let age = entry.metadata().and_then(|metadata| metadata.modified());
            let age = age.ok().and_then(|time| SystemTime::now().duration_since(time).ok());
            let is_unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            if is_unfinished && age.is_some_and(|age| age > UNFINISHED_AGE) {
                // What cannot be removed now is tried again next time.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// Unpacks one package, and adds its files to the list.
fn unpack_into(dir: &Path, package: &Path, list: &mut Vec<String>) -> Result<(), KernelError> {
    let bytes = fs::read(package).map_err(KernelError::io(package))?;
    visit_package(&bytes, &mut |path, content| {
        let target = dir.join(path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        io::copy(content, &mut File::create(&target)?)?;
        list.push(format!("{} {}", facts(&target)?, path.display()));
        Ok(())
    })
    .map_err(|source| KernelError::Package { path: package.to_owned(), source })
}

/// Size and time of a file, as one word: who changes a file changes them. Hashes would cost every
/// start a tenth of a second.
fn facts(path: &Path) -> io::Result<String> {
    let found = fs::metadata(path)?;
    Ok(format!("{}-{}.{:09}", found.len(), found.mtime(), found.mtime_nsec()))
}

/// Whether every listed file is there and unchanged, and the list whole.
fn is_complete(dir: &Path) -> bool {
    let Ok(list) = fs::read_to_string(dir.join(LIST)) else { return false };
    let Some(files) = list.strip_prefix(LIST_HEAD).and_then(|list| list.strip_suffix(LIST_TAIL))
    else {
        return false;
    };
    files.lines().filter(|line| !line.is_empty()).all(|line| {
        line.split_once(' ')
            .is_some_and(|(kept, path)| facts(&dir.join(path)).is_ok_and(|found| found == kept))
    })
}
