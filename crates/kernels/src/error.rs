//! What can go wrong between the name of a kernel and its modules in load order.

use std::io;
use std::path::{Path, PathBuf};

use crate::image::ImageError;
use crate::modules::ModinfoError;
use crate::package::PackageError;

/// A kernel that cannot be used, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// Packages cannot be fetched here.
    #[error(
        "deb:{name}: {tool} cannot be started ({source}); this needs a Debian-like system \
         (`apt-get install apt`); elsewhere give the path of a .deb, .rpm or kernel image"
    )]
    NoApt {
        /// The package.
        name: String,
        /// The program that is missing.
        tool: &'static str,
        /// What the system answered.
        source: io::Error,
    },
    /// The package index does not know the name.
    #[error("deb:{name}: no such package; {}", advice(near))]
    NoPackage {
        /// The package.
        name: String,
        /// Names that look alike, best first.
        near: Vec<String>,
    },
    /// `apt-get` failed, mostly for want of a network.
    #[error("`{command}` failed: {message}; if the index is old, run `apt-get update` as root")]
    Apt {
        /// What was run.
        command: String,
        /// Its complaint.
        message: String,
    },
    /// The package file cannot be read.
    #[error("{path}: {source}")]
    Package {
        /// The package file.
        path: PathBuf,
        /// What is wrong with it.
        source: PackageError,
    },
    /// Only packages can be merged with others.
    #[error("{path}: only packages (deb:NAME, .deb, .rpm) can stand in a list")]
    NotAPackage {
        /// What stands in the list.
        path: PathBuf,
    },
    /// Nothing to boot there.
    #[error("{place}: no kernel image in it{hint}")]
    NoImage {
        /// The folder, or the packages.
        place: String,
        /// What to use instead, with its punctuation, or nothing.
        hint: String,
    },
    /// The file is no kernel image that is understood.
    #[error("{path}: {source}")]
    Image {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ImageError,
    },
    /// The kernel is there, but its modules are not.
    #[error(
        "{image_path}: no folder lib/modules/{release} beside it; give the package of this kernel, \
         or a folder with boot/ and lib/modules/"
    )]
    NoModules {
        /// The kernel image.
        image_path: PathBuf,
        /// Its release.
        release: String,
    },
    /// A module that was asked for, or that another needs, is in no file and not built in.
    #[error("{modules_dir}: no module {name}{needed_by}; another kernel package may have it")]
    NoModule {
        /// The module.
        name: String,
        /// Who needs it, with its punctuation, or nothing.
        needed_by: String,
        /// Where it should be.
        modules_dir: PathBuf,
    },
    /// A module file that cannot be read.
    #[error("{path}: {source}; the file is damaged, unpack the kernel again")]
    Module {
        /// The module file.
        path: PathBuf,
        /// What is wrong with it.
        source: ModinfoError,
    },
}

impl KernelError {
    /// For `map_err`: the system refused at this path.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

fn advice(near: &[String]) -> String {
    let update = "run `apt-get update` as root if the index is old";
    if near.is_empty() { update.to_owned() } else { format!("near: {}; {update}", near.join(", ")) }
}
