//! Folders kept under a key, complete or absent. The last file written is a list of all files
//! with sizes and times; hashes would add 0.1 s to every start.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::io_results::unless_missing;
use crate::scratch::Scratch;

const LIST: &str = "contents";
const LIST_TAIL: &str = "end";

/// A folder of such folders; several processes may use it at a time.
#[derive(Clone, Debug)]
pub struct Shelf {
    /// The folder that contains them.
    pub folder: PathBuf,
    head: &'static str,
}

impl Shelf {
    /// The shelf in a folder, created when needed. Entries with another `head` are rebuilt.
    pub fn at(folder: PathBuf, head: &'static str) -> Self {
        Self { folder, head }
    }

    /// The folder of that key, if it exists and is complete.
    pub fn find(&self, key: &str) -> Option<PathBuf> {
        let folder = self.folder.join(key);
        self.is_complete(&folder).then_some(folder)
    }

    /// The keys of all folders, complete or damaged.
    pub fn keys(&self) -> Vec<String> {
        fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.') && self.folder.join(name).join(LIST).is_file())
            .collect()
    }

    /// Gives a folder with these files, created next to the others, its key, unless another process
    /// was faster. Readers see all of it or nothing. Fails when a file is missing or the folder
    /// cannot be renamed.
    pub fn put<P: AsRef<Path>>(
        &self,
        made: &Scratch,
        files: impl IntoIterator<Item = P>,
        key: &str,
    ) -> io::Result<PathBuf> {
        let mut list = vec![self.head.to_owned()];
        for file in files {
            let file = file.as_ref();
            list.push(format!("{} {}", facts(&made.path().join(file))?, file.display()));
        }
        list.push(LIST_TAIL.to_owned());
        fs::write(made.path().join(LIST), list.join("\n"))?;
        let folder = self.folder.join(key);
        // Serialized where locks exist, so that a complete folder is not replaced.
        let lock = File::open(&self.folder)?;
        let _ = lock.lock();
        if self.is_complete(&folder) {
            return Ok(folder);
        }
        unless_missing(fs::remove_dir_all(&folder))?;
        fs::rename(made.path(), &folder).map(|()| folder)
    }

    fn is_complete(&self, folder: &Path) -> bool {
        let Ok(list) = fs::read_to_string(folder.join(LIST)) else { return false };
        let files = list.strip_prefix(self.head).and_then(|list| list.strip_suffix(LIST_TAIL));
        files.is_some_and(|files| {
            files.lines().filter(|line| !line.is_empty()).all(|line| {
                line.split_once(' ').is_some_and(|(kept, path)| {
                    facts(&folder.join(path)).is_ok_and(|found| found == kept)
                })
            })
        })
    }
}

fn facts(path: &Path) -> io::Result<String> {
    let found = fs::metadata(path)?;
    Ok(format!("{}-{}.{:09}", found.len(), found.mtime(), found.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_there_complete_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::at(dir.path().join("shelf"), "test 1");
        let put = |text: &str| {
            let made = Scratch::make(&shelf.folder, "k").unwrap();
            fs::write(made.path().join("file"), text).unwrap();
            shelf.put(&made, ["file"], "k").unwrap()
        };
        assert_eq!((shelf.find("k"), shelf.keys().len()), (None, 0));
        let folder = put("first");
        assert_eq!(shelf.find("k"), Some(folder.clone()));
        put("second");
        assert_eq!(fs::read(folder.join("file")).unwrap(), b"first", "it was complete");
        let list = folder.join(LIST);
        let damages: [&dyn Fn(); 4] = [
            &|| fs::write(folder.join("file"), "other").unwrap(),
            &|| fs::remove_file(folder.join("file")).unwrap(),
            &|| fs::write(&list, &fs::read(&list).unwrap()[..9]).unwrap(),
            &|| fs::remove_file(&list).unwrap(),
        ];
        for damage in damages {
            damage();
            assert_eq!(shelf.find("k"), None);
            put("again");
            assert_eq!(fs::read(folder.join("file")).unwrap(), b"again");
        }
        assert_eq!(Shelf::at(dir.path().join("shelf"), "test 2").find("k"), None);
        let left = fs::read_dir(&shelf.folder).unwrap().count();
        assert_eq!(left, 1, "nothing else is left");
    }
}
