//! The engine: QEMU with this project's patches (`engine/`), built on this machine from the
//! distribution's source package, or installed with this program. A guest in it depends on nothing
//! of the host, with any number of virtual CPUs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use keep::{Cache, Scratch, Shelf, key_of};
use model::Architecture;

const SHELF_HEAD: &str = "thrashlab engine 1";
/// The first line of its `--version`, kept with it.
const VERSION: &str = "version";
const PATCHES: &str = "patches";
/// Where packages put engines, each in a folder named by its key; seen from the program's folder.
const INSTALLED: &str = "../lib/thrashlab/engines";
const SCRIPT: (&str, &str) = ("build", include_str!("../../../../engine/build"));

/// A release of QEMU for which there are patches, and its source package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineRelease {
    /// The version.
    pub version: &'static str,
    /// The name of its source archive in Debian's pool.
    pub archive: &'static str,
    /// The SHA-256 of the archive.
    pub sha256: &'static str,
    /// Names and texts of the patches, in order.
    patches: &'static [(&'static str, &'static str)],
}

macro_rules! patches {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("../../../../engine/patches/", $file)))),*]
    };
}

/// The releases, the usual one first.
pub const ENGINE_RELEASES: [EngineRelease; 2] = [
    EngineRelease {
        version: "10.0.13",
        archive: "qemu_10.0.13+ds.orig.tar.xz",
        sha256: "6a0888e806c2ffc0c5f0733e974f9aea55491950d3c47c98669c8b236dde59ae",
        patches: patches![
            "01-idle-clock.patch",
            "02-pause-yields.patch",
            "03-turns.patch",
            "04-own-exits.10.0.patch",
            "05-tlb-size.patch",
            "06-stop-together.patch",
            "07-schedule.patch",
            "09-parallel.patch",
            "10-kept-code.10.0.patch",
            "11-jump-cache.10.0.patch",
            "12-plugin-clock.patch",
            "13-output-lines.10.0.patch",
            "14-stop-at.10.0.patch",
            "15-charge.patch",
        ],
    },
    EngineRelease {
        version: "10.2.2",
        archive: "qemu_10.2.2+ds.orig.tar.xz",
        sha256: "be05230fe47a6937cd29f28f562932c8125f9c93c2a82c625198f7a4aa601dfb",
        patches: patches![
            "01-idle-clock.patch",
            "02-pause-yields.patch",
            "03-turns.patch",
            "04-own-exits.10.2.patch",
            "05-tlb-size.patch",
            "06-stop-together.patch",
            "07-schedule.patch",
            "08-cxl-stub.10.2.patch",
            "09-parallel.patch",
            "10-kept-code.10.2.patch",
            "11-jump-cache.10.2.patch",
            "12-plugin-clock.patch",
            "13-output-lines.10.2.patch",
            "14-stop-at.10.2.patch",
            "15-charge.patch",
        ],
    },
];

impl EngineRelease {
    /// The hash of architecture, release, patches and build script, under which an engine is kept.
    fn key(&self, architecture: Architecture) -> String {
        let patches =
            self.patches.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]);
        let fixed = [architecture.name(), self.sha256, SCRIPT.1].map(str::as_bytes);
        let parts: Vec<&[u8]> = fixed.into_iter().chain(patches).collect();
        key_of(&parts)
    }

    /// Its folder, if it was built for guests of this architecture: in the cache, or where a
    /// package of this program installed it.
    pub fn find(&self, architecture: Architecture, cache: &Cache) -> Option<PathBuf> {
        let key = self.key(architecture);
        let program = std::env::current_exe().ok();
        let installed = || installed(program.as_deref()?.parent()?, &key);
        shelf(cache).find(&key).or_else(installed)
    }

    /// A folder with the build script and the patches, removed when dropped. Fails when the cache
    /// cannot be written.
    pub fn unpack(&self, architecture: Architecture, cache: &Cache) -> io::Result<EngineBuild> {
        let scratch = Scratch::make(&cache.engines(), &self.key(architecture))?;
        fs::write(scratch.path().join(SCRIPT.0), SCRIPT.1)?;
        let patches = scratch.path().join(PATCHES);
        fs::create_dir(&patches)?;
        for (name, text) in self.patches {
            fs::write(patches.join(name), text)?;
        }
        Ok(EngineBuild { architecture, release: *self, scratch })
    }
}

/// An engine on its way into the cache.
pub struct EngineBuild {
    architecture: Architecture,
    release: EngineRelease,
    scratch: Scratch,
}

impl EngineBuild {
    /// The folder in which it is built.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// The arguments of `sh` that build it, from an archive on this disk if one is named.
    pub fn arguments(&self, archive: Option<&Path>) -> Vec<PathBuf> {
        let EngineRelease { version, archive: name, sha256, .. } = self.release;
        let script = self.folder().join(SCRIPT.0);
        let texts = [self.architecture.name(), version, name, sha256].map(PathBuf::from);
        std::iter::once(script).chain(texts).chain(archive.map(Path::to_owned)).collect()
    }

    /// Keeps what the script built; returns its folder. Fails when a file is missing, or it does not
    /// run.
    pub fn keep(self, cache: &Cache) -> io::Result<PathBuf> {
        let made = self.scratch.path().join("made");
        let key = self.release.key(self.architecture);
        let name = format!("{key}-made");
        let kept = Scratch::make(&cache.engines(), &name)?;
        let mut files = Vec::new();
        for entry in fs::read_dir(&made)? {
            let name = entry?.file_name();
            fs::rename(made.join(&name), kept.path().join(&name))?;
            files.push(name);
        }
        files.sort();
        // The firmware is that of this host, and is executed by guests.
        let mut content = blake3::Hasher::new();
        for name in &files {
            content.update(&fs::read(kept.path().join(name))?);
        }
        let content = content.finalize().to_hex();
        let emulator = kept.path().join(emulator(self.architecture));
        let line = version_of(&emulator).map_err(io::Error::other)?;
        let version = format!("{line}, engine {}", &content[..16]);
        fs::write(kept.path().join(VERSION), version)?;
        files.push(VERSION.into());
        shelf(cache).put(&kept, files, &key)
    }
}

/// The engine of this key that a package installed with the program in this folder. Engines built
/// with other patches have other keys, so one that is older than the program is not used.
fn installed(program_folder: &Path, key: &str) -> Option<PathBuf> {
    let folder = program_folder.join(INSTALLED).join(key).canonicalize().ok()?;
    folder.join(VERSION).is_file().then_some(folder)
}

/// The name of the emulator of an architecture.
pub(crate) const fn emulator(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "qemu-system-x86_64",
        Architecture::Aarch64 => "qemu-system-aarch64",
    }
}

/// The command that builds the engine for guests of an architecture.
pub fn build_command(architecture: Architecture) -> String {
    const COMMAND: &str = "thrashlab vm engine build";
    match architecture == Architecture::default() {
        true => COMMAND.to_owned(),
        false => format!("{COMMAND} --arch {}", architecture.name()),
    }
}

/// The first line of a QEMU's `--version`. Fails when it does not run.
pub(crate) fn version_of(program: &Path) -> Result<String, String> {
    let broken = |reason: &str| format!("{} does not run: {reason}", program.display());
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| broken(&error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let version = said.lines().next().unwrap_or_default().trim().to_owned();
    match output.status.success() && !version.is_empty() {
        true => Ok(version),
        false => Err(broken(String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// The folders and versions of the engines that were built for guests of an architecture, which use
/// the first one.
pub fn built(architecture: Architecture, cache: &Cache) -> impl Iterator<Item = (PathBuf, String)> {
    ENGINE_RELEASES.iter().filter_map(move |release| {
        let folder = release.find(architecture, cache)?;
        let version = fs::read_to_string(folder.join(VERSION)).ok()?;
        Some((folder, version))
    })
}

fn shelf(cache: &Cache) -> Shelf {
    Shelf::at(cache.engines(), SHELF_HEAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_engine_is_found_by_its_key() {
        let root = tempfile::tempdir().unwrap();
        let programs = root.path().join("usr/bin");
        let folder = root.path().join("usr/lib/thrashlab/engines/key1");
        fs::create_dir_all(&programs).unwrap();
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(installed(&programs, "key1"), None, "a package that is being installed");
        fs::write(folder.join(VERSION), "QEMU emulator version 10.0.13, engine 0").unwrap();
        assert_eq!(installed(&programs, "key1"), Some(folder.canonicalize().unwrap()));
        assert_eq!(installed(&programs, "key2"), None);
    }

    #[test]
    fn each_architecture_has_an_engine_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let release = ENGINE_RELEASES[0];
        let key = |architecture| release.key(architecture);
        assert_ne!(key(Architecture::X86_64), key(Architecture::Aarch64));
        let build = release.unpack(Architecture::Aarch64, &cache).unwrap();
        let arguments = build.arguments(Some(Path::new("qemu.tar.xz")));
        assert_eq!(arguments[0], build.folder().join("build"));
        let others: Vec<&str> = arguments[1..].iter().filter_map(|it| it.to_str()).collect();
        let expected = ["aarch64", release.version, release.archive, release.sha256, "qemu.tar.xz"];
        assert_eq!(others, expected);
        assert_eq!(build_command(Architecture::X86_64), "thrashlab vm engine build");
        let command = build_command(Architecture::Aarch64);
        assert_eq!(command, "thrashlab vm engine build --arch aarch64");
    }
}
