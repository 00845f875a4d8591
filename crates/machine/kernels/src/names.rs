//! Which package a name led to, remembered as long as apt knows the same packages: asking apt takes
//! a second where its cache is switched off, as in containers.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::apt::{INDEX_DIR, LISTS};

/// Next to the kernels; an entry is called after apt's state and the name.
const FOLDER: &str = ".names";
/// What apt's answers depend on: its index, its configuration, installed packages.
const APT_FOLDERS: [&str; 5] = [
    "/var/lib/apt/lists",
    "/etc/apt",
    "/etc/apt/apt.conf.d",
    "/etc/apt/preferences.d",
    "/etc/apt/sources.list.d",
];
const DPKG_STATUS: &str = "/var/lib/dpkg/status";

/// The memory of names in one cache folder.
pub(crate) struct Names {
    folder: PathBuf,
    apt_state: String,
}

impl Names {
    pub(crate) fn of(cache_dir: &Path) -> Self {
        let state = apt_state(cache_dir);
        Self { folder: cache_dir.join(FOLDER), apt_state: short_hash(state.as_bytes()) }
    }

    /// What [`Self::remember`] was given for the name, if apt would say the same today.
    pub(crate) fn find(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.place(name)).ok()
    }

    /// Without a place to write to, apt is asked again.
    pub(crate) fn remember(&self, name: &str, key: &str) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if !entry.file_name().to_string_lossy().starts_with(&self.apt_state) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let _ = fs::create_dir_all(&self.folder).and_then(|()| fs::write(self.place(name), key));
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}-{}", self.apt_state, short_hash(name.as_bytes())))
    }
}

/// Names, sizes and times of apt's files: those of this machine, and the indexes of other
/// architectures.
fn apt_state(cache_dir: &Path) -> String {
    let mut folders: Vec<PathBuf> = APT_FOLDERS.iter().map(PathBuf::from).collect();
    folders.extend(in_folder(&cache_dir.join(INDEX_DIR)).map(|index| index.join(LISTS)));
    let mut paths: Vec<PathBuf> = folders.iter().flat_map(|folder| in_folder(folder)).collect();
    paths.extend(folders);
    paths.push(DPKG_STATUS.into());
    paths.sort();
    let facts = paths.iter().filter_map(|path| {
        let found = fs::metadata(path).ok()?;
        let (size, time, part) = (found.len(), found.mtime(), found.mtime_nsec());
        Some(format!("{} {size} {time}.{part:09}\n", path.display()))
    });
    facts.collect()
}

fn in_folder(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

pub(crate) fn short_hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_remembered_until_apt_knows_other_packages() {
        let dir = tempfile::tempdir().unwrap();
        let names = Names::of(dir.path());
        assert_eq!(names.find("linux-image-a"), None);
        names.remember("linux-image-a", "linux-image-6_1_amd64");
        assert_eq!(names.find("linux-image-a").as_deref(), Some("linux-image-6_1_amd64"));
        assert_eq!(names.find("linux-image-b"), None);
        let later = Names { folder: names.folder.clone(), apt_state: "0".repeat(16) };
        assert_eq!(later.find("linux-image-a"), None);
        later.remember("linux-image-b", "linux-image-7_1_amd64");
        assert_eq!(fs::read_dir(&names.folder).unwrap().count(), 1, "old answers are forgotten");
        let before = Names::of(dir.path()).apt_state;
        fs::create_dir_all(dir.path().join(INDEX_DIR).join("arm64").join(LISTS)).unwrap();
        assert_ne!(Names::of(dir.path()).apt_state, before, "an index of another architecture");
    }
}
