//! The kernels available here.

use std::fs;
use std::path::{Path, PathBuf};

use crate::apt::Archive;
use crate::locate::{image_in, shelf};
use crate::version::compare;
use crate::{KernelArg, KernelSource};

/// Where a kernel was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelPlace {
    /// On this machine, in `/boot` or `/lib/modules`.
    Host,
    /// In a folder that was given.
    Folder,
    /// In the cache of unpacked packages.
    Cache,
    /// In an archive that apt is set up for; it would be fetched.
    Archive,
}

/// A kernel that could be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvailableKernel {
    /// What to give to [`locate`](crate::locate()).
    pub arg: KernelArg,
    /// Its release as far as a name shows it; the image was not read.
    pub release: String,
    /// Where it was found.
    pub place: KernelPlace,
}

/// Lists kernels by place, newest first, by name only. What cannot be read is left out.
pub fn survey(cache_dir: &Path, extra_dirs: &[PathBuf]) -> Vec<AvailableKernel> {
    let mut found = installed();
    for dir in extra_dirs {
        found.extend(images(dir, KernelPlace::Folder));
    }
    found.extend(cached(cache_dir));
    found.extend(in_archive(&Archive::default()));
    sort(&mut found);
    found
}

/// The kernels of this machine, newest first, by name only; in a container none of them may be
/// running.
pub fn installed() -> Vec<AvailableKernel> {
    let mut found = images(Path::new("/boot"), KernelPlace::Host);
    if found.is_empty() {
        found = images(Path::new("/lib/modules"), KernelPlace::Host);
    }
    sort(&mut found);
    found
}

fn sort(found: &mut [AvailableKernel]) {
    found.sort_by(|left, right| {
        left.place.cmp(&right.place).then_with(|| compare(&right.release, &left.release))
    });
}

/// The kernels in a folder (`vmlinuz-*`), and one in each of its folders.
pub(crate) fn images(dir: &Path, place: KernelPlace) -> Vec<AvailableKernel> {
    let found = |path: &Path, image_path: &Path, otherwise: &str| {
        let release = release_of(image_path).unwrap_or_else(|| otherwise.to_owned());
        AvailableKernel { arg: KernelSource::Path(path.to_owned()).into(), release, place }
    };
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let image_path = match path.is_dir() {
            true => image_in(&path),
            false => release_of(&path).map(|_| path.clone()),
        };
        all.extend(image_path.map(|it| found(&path, &it, &name.to_string_lossy())));
    }
    if all.is_empty() {
        all.extend(image_in(dir).map(|image_path| found(dir, &image_path, "unknown")));
    }
    all
}

fn release_of(image_path: &Path) -> Option<String> {
    let name = image_path.file_name()?.to_str()?;
    ["vmlinuz-", "vmlinux-", "Image-"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .filter(|release| !release.ends_with(".old"))
        .map(str::to_owned)
}

fn cached(cache_dir: &Path) -> Vec<AvailableKernel> {
    let keys = shelf(cache_dir).keys().into_iter();
    keys.filter_map(|key| {
        let dir = cache_dir.join(&key);
        let release = release_of(&image_in(&dir)?).unwrap_or_else(|| key.clone());
        let arg = debian_arg(&key).unwrap_or_else(|| KernelSource::Path(dir).into());
        Some(AvailableKernel { arg, release, place: KernelPlace::Cache })
    })
    .collect()
}

/// The package of a cache folder, if it came through apt: `NAME_VERSION_ARCHITECTURE`.
fn debian_arg(key: &str) -> Option<KernelArg> {
    match key.split('_').collect::<Vec<_>>()[..] {
        [name, version, architecture] if !architecture.contains('-') => {
            format!("deb:{name}={version}").parse().ok()
        }
        _ => None,
    }
}

/// The kernels of an archive.
pub(crate) fn in_archive(archive: &Archive) -> Vec<AvailableKernel> {
    archive.image_names().iter().filter_map(|name| downloadable(name, &archive.place)).collect()
}

/// A package with an image of one version, neither debug symbols nor an unsigned twin.
fn downloadable(name: &str, place: &str) -> Option<AvailableKernel> {
    let release = name.strip_prefix("linux-image-")?;
    let is_certain = release.split(['-', '+']).next()?.matches('.').count() >= 2;
    let is_other = release.ends_with("-dbg") || release.ends_with("-unsigned");
    if !is_certain || is_other {
        return None;
    }
    let source: KernelSource = format!("deb:{name}{place}").parse().ok()?;
    Some(AvailableKernel {
        arg: source.into(),
        release: release.to_owned(),
        place: KernelPlace::Archive,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_with_an_image_are_listed() {
        let found = downloadable("linux-image-6.12.117+deb12-cloud-amd64", "").unwrap();
        assert_eq!(found.release, "6.12.117+deb12-cloud-amd64");
        assert_eq!(found.arg.to_string(), "deb:linux-image-6.12.117+deb12-cloud-amd64");
        for name in [
            "linux-image-6.1.0-50-amd64-dbg",
            "linux-image-6.1.0-50-amd64-unsigned",
            "linux-image-cloud-amd64",
            "linux-image-6.12-cloud-amd64",
        ] {
            assert_eq!(downloadable(name, ""), None, "{name}");
        }
    }

    #[test]
    fn what_came_through_apt_is_named_as_its_package() {
        let arg = |key| debian_arg(key).map(|arg| arg.to_string());
        assert_eq!(
            arg("linux-image-x_6.1~2-1_amd64").as_deref(),
            Some("deb:linux-image-x=6.1~2-1")
        );
        assert_eq!(arg("linux-image-x_6.1_amd64-0123456789abcdef"), None);
    }

    #[test]
    fn folders_are_listed_newest_first() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["vmlinuz-6.1.0-9", "vmlinuz-6.1.0-47", "config-6.1.0-47", "vmlinuz-5.old"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        fs::create_dir_all(dir.path().join("unpacked/boot")).unwrap();
        fs::write(dir.path().join("unpacked/boot/vmlinuz-6.12.1"), "").unwrap();
        let found = survey(&dir.path().join("cache"), &[dir.path().to_owned()]);
        let releases: Vec<&str> = found
            .iter()
            .filter(|found| found.place == KernelPlace::Folder)
            .map(|found| found.release.as_str())
            .collect();
        assert_eq!(releases, ["6.12.1", "6.1.0-47", "6.1.0-9"]);
        assert!(!dir.path().join("cache").exists(), "a survey creates nothing");
    }
}
