//! Kernels from source, for searches along the states of a source or of a configuration.
//!
//! - `source`: a folder, an archive or a package with the source of a kernel.
//! - `history`: the states between two sources, or along a series of patches, as commits.
//! - `config`: what a guest needs of a configuration, and what differs between two.
//! - `builder`: a state as an image with its modules, kept by what it was made from.
//! - `build_run`: one program of a build, with its log, its end, and the end of what it starts.
//! - `git`: questions to git(1).
//!
//! **Invariants:** nothing is installed, no source of the user is written to, and only the cache
//! folder is. A kernel's bytes depend on its source, its configuration and the compiler alone.

mod build_run;
mod builder;
mod config;
mod error;
mod git;
mod history;
mod source;

pub use build_run::BuildControl;
pub use builder::{KernelBuilder, KernelState};
pub use config::{KernelOption, differences, read_options};
pub use error::BuildError;
pub use git::{Git, commit, commits};
pub use history::{SourceHistory, SourceState};
