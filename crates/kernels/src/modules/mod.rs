//! Modules of a kernel: which files, in which order.

mod index;
mod modinfo;

use std::path::{Path, PathBuf};

pub use index::ModuleIndex;
pub use modinfo::Modinfo;

use crate::KernelError;
use crate::compression::decompressed;

/// One module that is to be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// Its name as the kernel shows it, with `_`.
    pub name: String,
    /// Its file, compressed or not.
    pub path: PathBuf,
}

impl Module {
    /// The module as an ELF file, decompressed.
    ///
    /// # Errors
    /// When its file cannot be read or decompressed.
    pub fn bytes(&self) -> Result<Vec<u8>, KernelError> {
        read_module(&self.path)
    }
}

fn read_module(path: &Path) -> Result<Vec<u8>, KernelError> {
    let packed = std::fs::read(path).map_err(KernelError::io(path))?;
    decompressed(&packed)
        .map_err(|error| KernelError::module(path)(format!("cannot be decompressed: {error}")))
}

/// A module's name in the kernel: of `-` and `_`, which mean the same, only `_`.
fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

/// The name of the module in a file, if it is one: `kernel/fs/ext4/ext4.ko.xz`.
fn name_of_file(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let (name, suffix) = file.split_once(".ko")?;
    ["", ".xz", ".zst", ".gz"].contains(&suffix).then(|| canonical(name))
}
