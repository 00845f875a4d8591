//! Kernels at hand: found, unpacked, described, with their modules in the order of their dependencies.
//!
//! **Invariants:** nothing is installed, and nothing is written but in the cache folder. A folder
//! in the cache is complete or not there, and is named after what it was made of. Packages and
//! images come from elsewhere: their readers take any bytes, and refuse or read them.

mod apt;
mod arg;
mod compression;
mod config;
mod error;
mod image;
mod kernel;
mod locate;
mod modules;
mod package;
mod survey;
mod version;

pub use arg::{KernelArg, KernelSource};
pub use config::{ConfigFacts, Missing};
pub use error::KernelError;
pub use image::{ImageFacts, X86_64, has_pvh_entry, vmlinux};
pub use kernel::Kernel;
pub use locate::locate;
pub use modules::{Modinfo, Module};
pub use package::visit_package;
pub use survey::{Found, Place, survey};
