//! Kernels: found, unpacked, described, with their modules in load order.
//!
//! **Invariants:** nothing is installed, and only the cache folder is written. Cache entries are
//! complete or absent. Readers accept or refuse any bytes.

mod apt;
mod arg;
mod axis;
mod compression;
mod config;
mod error;
mod image;
mod kernel;
mod locate;
mod modules;
mod names;
mod package;
mod survey;
mod version;

pub use arg::{KernelArg, KernelSource};
pub use axis::{OrderedKernel, compare_names, in_order, named_kernels};
pub use config::{ConfigFacts, Missing};
pub use error::KernelError;
pub use image::{ARM64, ImageFacts, X86_64, has_pvh_entry, vmlinux};
pub use kernel::Kernel;
pub use locate::{locate, shelf, source_archive};
pub use modules::{Modinfo, Module};
pub use package::visit_package;
pub use survey::{AvailableKernel, KernelPlace, installed, survey};
