//! The files of a guest's programs, for their symbols.

use std::fs;
use std::path::{Path, PathBuf};

use roots::RootFiles;

/// A guest sees a file at most so many folders below where its root has it.
const MOST_MOUNTED: usize = 3;

/// Where the programs of a guest come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramFiles {
    /// A folder of the host.
    pub(crate) overlay: Option<PathBuf>,
    /// The archive of the root.
    pub(crate) archive: Option<PathBuf>,
}

impl ProgramFiles {
    /// A function that reads a file by the path that it has in its file system, which may be mounted
    /// somewhere else; `None` for a file that the guest made itself.
    pub(crate) fn reader(&self) -> impl Fn(&str) -> Option<Vec<u8>> + use<> {
        let overlay = self.overlay.clone();
        let root = self.archive.as_deref().and_then(|archive| RootFiles::read(archive).ok());
        move |path| {
            let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
            if parts.contains(&"..") {
                return None;
            }
            (0..parts.len().min(MOST_MOUNTED + 1)).find_map(|left_out| {
                let path = parts[left_out..].join("/");
                let laid_over = overlay.as_deref().and_then(|folder| regular(&folder.join(&path)));
                laid_over.or_else(|| root.as_ref()?.get(&path).ok()?)
            })
        }
    }
}

fn regular(path: &Path) -> Option<Vec<u8>> {
    path.is_file().then(|| fs::read(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_where_its_file_system_is_mounted() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::write(folder.path().join("bin/tool"), "content").unwrap();
        let files = ProgramFiles { overlay: Some(folder.path().to_owned()), archive: None };
        let read = files.reader();
        for path in ["/bin/tool", "/changes/upper/bin/tool"] {
            assert_eq!(read(path).as_deref(), Some(&b"content"[..]), "{path}");
        }
        for path in ["/bin", "/bin/other", "/bin/../bin/tool", "/a/b/c/d/bin/tool", ""] {
            assert_eq!(read(path), None, "{path}");
        }
    }
}
