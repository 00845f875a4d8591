//! The disk of the deterministic machine: partitions, swap and file system, made by this program
//! itself.

pub mod ext4;
mod layout;
mod mount_options;
mod prepare;

pub use layout::{DoesNotFit, Layout};
pub use prepare::{Mount, Prepared, delayed, partition, prepare};
