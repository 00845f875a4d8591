//! The files of the project.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the project.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SourceFile {
    /// Path from the root, with `/` between its parts.
    pub(crate) path: String,
    /// Its text, if it is text.
    pub(crate) text: Option<String>,
}

/// Folders that hold files of the project; the files at the root itself belong to it too.
const FOLDERS: &[&str] =
    &[".cargo", ".ci", "crates", "docs", "fuzz", "python", "reference", "tests", "tools", "xtask"];
/// Folders below them that hold generated files.
const MADE: &[&str] = &["target", "corpus", "artifacts", "seeds"];
/// Pages at the root.
const ROOT_PAGES: &[&str] = &["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"];

/// Whether a file is a page for readers: Markdown in `docs/`, or one of those at the root.
pub(crate) fn is_page(path: &str) -> bool {
    path.ends_with(".md") && path.starts_with("docs/") || ROOT_PAGES.contains(&path)
}

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// All files of the project in the order of their paths.
pub(crate) fn files(root: &Path) -> Result<Vec<SourceFile>, String> {
    let mut files = Vec::new();
    for path in entries(root)? {
        if path.is_file() {
            files.push(read(root, &path)?);
        } else if FOLDERS.iter().any(|folder| path.ends_with(folder)) {
            collect(root, &path, &mut files)?;
        }
    }
    Ok(files)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() {
            if !MADE.iter().any(|made| path.ends_with(made)) {
                collect(root, &path, files)?;
            }
        } else {
            files.push(read(root, &path)?);
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = fs::read_dir(folder)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()).map_err(failed))
        .collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}

fn read(root: &Path, path: &Path) -> Result<SourceFile, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let relative = path.strip_prefix(root).unwrap_or(path);
    Ok(SourceFile {
        path: relative.to_string_lossy().into_owned(),
        text: String::from_utf8(bytes).ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_made_is_no_file_of_the_project() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["README.md", "docs/a.md", "fuzz/target/b", "results/c", "docs/binary"] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, if path.ends_with("binary") { &[0xff][..] } else { b"text\n" })
                .unwrap();
        }
        let files = files(dir.path()).unwrap();
        let found: Vec<_> = files.iter().map(|f| (f.path.as_str(), f.text.is_some())).collect();
        assert_eq!(found, [("README.md", true), ("docs/a.md", true), ("docs/binary", false)]);
    }
}
