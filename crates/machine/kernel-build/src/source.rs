//! The source of a kernel by name: a folder, an archive, or a package of Debian.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use keep::{Scratch, key_of};
use kernels::KernelSource;

use crate::build_run::BuildControl;
use crate::error::{BuildError, Result};

/// What the folder of a kernel's source has.
const MARKS: [&str; 2] = ["Kbuild", "Makefile"];
/// What a build leaves in it.
const CONFIG: &str = ".config";
/// The forms in which archives of sources come.
const ARCHIVES: [&str; 4] = [".tar", ".tar.gz", ".tar.xz", ".tar.zst"];

/// Whether a folder is the source of a kernel.
pub(crate) fn is_source(folder: &Path) -> bool {
    MARKS.iter().all(|name| folder.join(name).is_file())
}

/// The folder of a source: itself, or unpacked into `cache_dir`, once for each archive.
pub(crate) fn source(
    text: &str,
    cache_dir: &Path,
    control: &mut BuildControl<'_>,
) -> Result<PathBuf> {
    let path = Path::new(text);
    if path.is_dir() {
        return match (is_source(path), path.join(CONFIG).exists()) {
            (true, false) => path.canonicalize().map_err(BuildError::io(path)),
            (true, true) => Err(BuildError::Unusable(format!(
                "{text}: a kernel was built in it, so it is more than the source; run `make \
                 mrproper` there, or name an archive"
            ))),
            (false, _) => Err(BuildError::Unusable(format!(
                "{text}: not the source of a kernel: it has no {}",
                MARKS.join(" and no ")
            ))),
        };
    }
    let is_archive = ARCHIVES.iter().any(|end| text.ends_with(end));
    let is_package = text.starts_with("deb:") || text.ends_with(".deb");
    if !is_archive && !is_package {
        return Err(BuildError::Unusable(format!(
            "{text}: no such source; it is a folder, a file {}, or deb:NAME of a package such as \
             deb:linux-source-6.1=6.1.192-1",
            ARCHIVES.join(", ")
        )));
    }
    let key = match is_archive {
        true => {
            let facts = path.metadata().map_err(BuildError::io(path))?;
            let written = facts.modified().map_err(BuildError::io(path))?;
            key_of(&[text.as_bytes(), format!("{} {written:?}", facts.len()).as_bytes()])
        }
        false => key_of(&[text.as_bytes()]),
    };
    let kept = cache_dir.join(&key[..16]);
    if !kept.is_dir() {
        control.say(&format!("unpacking {text}"));
        let scratch = Scratch::make(cache_dir, "source").map_err(BuildError::io(cache_dir))?;
        let archive = match is_archive {
            true => path.canonicalize().map_err(BuildError::io(path))?,
            false => packaged(text, scratch.path())?,
        };
        let files = scratch.path().join("files");
        fs::create_dir(&files).map_err(BuildError::io(&files))?;
        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(&archive).arg("-C").arg(&files);
        control.run(&mut tar, &scratch.path().join("log")).map_err(|error| match error {
            BuildError::Broken(why) => BuildError::Unusable(format!("{text}: {why}")),
            other => other,
        })?;
        fs::rename(&files, &kept).map_err(BuildError::io(&kept))?;
    }
    let folders = fs::read_dir(&kept).map_err(BuildError::io(&kept))?;
    let mut folders = folders.filter_map(|entry| Some(entry.ok()?.path()));
    folders
        .find(|folder| is_source(folder))
        .ok_or_else(|| BuildError::Unusable(format!("{text}: the source of no kernel is in it")))
}

/// The archive in a package.
fn packaged(text: &str, folder: &Path) -> Result<PathBuf> {
    let source: KernelSource = text.parse().map_err(BuildError::Unusable)?;
    Ok(kernels::source_archive(&source, folder)?)
}
