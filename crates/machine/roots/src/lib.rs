//! Root file systems for guests: a folder, a tar file, a container image or a Debian suite, each as
//! one archive of a fixed form.
//!
//! **Invariant:** nothing of a root is ever written to a path that the root names: entries are
//! collected in a tree in memory, their content in one file of the cache.

mod archive;
mod compression;
mod debian;
mod error;
mod folder;
mod layer;
mod oci;
mod program;
mod spool;
#[cfg(test)]
mod tests;
mod tree;

use std::fs::{self, File};
use std::io::{BufReader, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use keep::{Scratch, Shelf, key_of};
use model::Architecture;

pub use archive::Contents;
pub use error::RootError;
pub use program::{Program, RootFiles, program};

use debian::Debian;
use layer::Building;
use oci::Image;
use spool::Spool;
use tree::Tree;

const SHELF_HEAD: &str = "thrashlab root 2";
const ARCHIVE: &str = "root.tar";
const CONTENTS: &str = "contents.json";
const SPOOL: &str = "spool";
const DEBIAN: &str = "debian:";
/// What a packed image would be taken for.
const PACKED_IMAGE: [&[u8]; 2] = [b"oci-layout", b"manifest.json"];

/// A root, ready for a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its tar file, in which directories precede what is in them.
    pub archive: PathBuf,
    /// What it contains.
    pub contents: Contents,
}

/// Whether a name is that of a file or folder of this machine.
pub fn is_path(name: &str) -> bool {
    !name.starts_with(DEBIAN)
}

/// Checks a name without looking for what it names. The error says what is possible.
pub fn check(name: &str) -> Result<(), String> {
    match name.strip_prefix(DEBIAN) {
        Some(suite) => Debian::parse(suite).map(drop),
        None if name.is_empty() => {
            Err("a folder, a tar file, an OCI image, or debian:SUITE[,PACKAGE…]".to_owned())
        }
        None => Ok(()),
    }
}

/// Finds or builds the archive of a root in this folder of the cache. Of an image for several
/// architectures it is that for this one; a suite is always for x86-64. `say` gets the steps that take
/// long, `stop` is polled. Fails when there is no such root, it is damaged, or a tool is missing.
pub fn prepare(
    name: &str,
    architecture: Architecture,
    cache: &Path,
    say: &mut dyn FnMut(&str),
    stop: &dyn Fn() -> bool,
) -> Result<Root, RootError> {
    let source = Source::find(name)?;
    let key = source.key(architecture)?;
    let shelf = Shelf::at(cache.to_owned(), SHELF_HEAD);
    if let Some(folder) = shelf.find(&key)
        && let Some(root) = kept(&folder)
    {
        return Ok(root);
    }
    say(&source.step(name));
    let scratch = Scratch::make(cache, &key).map_err(RootError::cache(cache))?;
    let path = |name: &str| scratch.path().join(name);
    let contents = {
        let (spool_path, archive) = (path(SPOOL), path(ARCHIVE));
        let mut spool = Spool::create(&spool_path).map_err(RootError::cache(&spool_path))?;
        let mut tree = Tree::default();
        let mut building = Building { tree: &mut tree, spool: &mut spool, stop };
        // What the user stops fails in many places.
        let interrupted = |error| if stop() { RootError::Interrupted } else { error };
        let environment =
            source.read(name, architecture, &scratch, &mut building).map_err(interrupted)?;
        let spool = spool.finish().map_err(RootError::cache(&spool_path))?;
        fs::remove_file(&spool_path).map_err(RootError::cache(&spool_path))?;
        let file = File::create_new(&archive).map_err(RootError::cache(&archive))?;
        let written = archive::write(&tree, &spool, file, stop)
            .map_err(|error| match error.kind() {
                ErrorKind::FileTooLarge => RootError::unfit(name, error),
                _ => RootError::cache(&archive)(error),
            })
            .map_err(interrupted)?;
        if written.entries == 0 {
            return Err(RootError::unfit(name, "it is empty"));
        }
        Contents { environment, ..written }
    };
    let text = serde_json::to_vec(&contents).unwrap_or_default();
    fs::write(path(CONTENTS), text).map_err(RootError::cache(&path(CONTENTS)))?;
    let put = shelf.put(&scratch, [ARCHIVE, CONTENTS], &key).map_err(RootError::cache(cache))?;
    kept(&put).ok_or_else(|| RootError::unfit(name, "its archive in the cache cannot be read"))
}

fn kept(folder: &Path) -> Option<Root> {
    let contents = serde_json::from_slice(&fs::read(folder.join(CONTENTS)).ok()?).ok()?;
    Some(Root { archive: folder.join(ARCHIVE), contents })
}

enum Source {
    Debian(Debian),
    Folder(PathBuf),
    Image(Image),
    Tar(PathBuf),
}

impl Source {
    fn find(name: &str) -> Result<Self, RootError> {
        if let Some(suite) = name.strip_prefix(DEBIAN) {
            let debian = Debian::parse(suite).map_err(|why| RootError::unfit(name, why))?;
            return Ok(Self::Debian(debian));
        }
        let path = Path::new(name);
        let facts = match fs::metadata(path) {
            Ok(facts) => facts,
            Err(error) => match Image::of_tag(name) {
                Some(image) => return Ok(Self::Image(image)),
                None => return Err(RootError::io(path)(error)),
            },
        };
        if facts.is_dir() {
            return Ok(match Image::of_folder(path) {
                Some(image) => Self::Image(image),
                None => Self::Folder(path.to_owned()),
            });
        }
        if !facts.is_file() {
            return Err(RootError::unfit(name, "neither a folder nor a file"));
        }
        match Image::of_tar(path) {
            Ok(Some(image)) => Ok(Self::Image(image)),
            // It may be compressed.
            Ok(None) | Err(_) => Ok(Self::Tar(path.to_owned())),
        }
    }

    /// The hash of all that shows whether it is still the same.
    fn key(&self, architecture: Architecture) -> Result<String, RootError> {
        let of_file = |path: &Path| {
            let facts = fs::metadata(path).map_err(RootError::io(path))?;
            let changed = (facts.ctime(), facts.ctime_nsec(), facts.mtime(), facts.mtime_nsec());
            let place = (facts.dev(), facts.ino(), facts.len());
            Ok::<_, RootError>(format!("{changed:?} {place:?}").into_bytes())
        };
        let (kind, facts) = match self {
            Self::Debian(debian) => ("debian", debian.key().into_bytes()),
            Self::Folder(path) => ("folder", folder::fingerprint(path)?.as_bytes().to_vec()),
            Self::Image(Image::Folder(path, tag)) => {
                ("layout", oci::fingerprint(path, tag.as_deref())?)
            }
            Self::Image(Image::Tar { path, .. }) => ("image", of_file(path)?),
            Self::Tar(path) => ("tar", of_file(path)?),
        };
        let mut parts = vec![SHELF_HEAD.as_bytes(), kind.as_bytes(), &facts];
        // Roots of x86-64 are kept under the names that they had before there were others.
        if matches!(self, Self::Image(_)) && architecture != Architecture::X86_64 {
            parts.push(architecture_of_images(architecture).as_bytes());
        }
        Ok(key_of(&parts))
    }

    /// What takes long, as it is printed.
    fn step(&self, name: &str) -> String {
        match self {
            Self::Debian(_) => {
                format!("mmdebstrap installs {name}, which takes a minute or more, once")
            }
            _ => format!("reading the root {name}"),
        }
    }

    /// Fills the tree; returns the variables that an image sets.
    fn read(
        &self,
        name: &str,
        architecture: Architecture,
        scratch: &Scratch,
        building: &mut Building<'_>,
    ) -> Result<Vec<(String, String)>, RootError> {
        match self {
            Self::Debian(debian) => debian.read(name, scratch, building)?,
            Self::Folder(path) => folder::read(path, building)?,
            Self::Image(image) => {
                return image.read(architecture_of_images(architecture), building);
            }
            Self::Tar(path) => read_tar(path, building)?,
        }
        Ok(Vec::new())
    }
}

/// An architecture as images name it.
fn architecture_of_images(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "amd64",
        Architecture::Aarch64 => "arm64",
    }
}

fn read_tar(path: &Path, building: &mut Building<'_>) -> Result<(), RootError> {
    let file = File::open(path).map_err(RootError::io(path))?;
    let file = BufReader::with_capacity(1 << 16, file);
    let reader = compression::reader(file).map_err(RootError::io(path))?;
    layer::apply(reader, false, building).map_err(|why| {
        RootError::unfit(path.display(), format!("not a tar file, or damaged: {why}"))
    })?;
    match PACKED_IMAGE.iter().any(|name| building.tree.get(name).is_some()) {
        true => Err(RootError::unfit(
            path.display(),
            "an image in a compressed file; decompress it first (gunzip, unzstd, unxz)",
        )),
        false => Ok(()),
    }
}
