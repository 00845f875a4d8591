//! The disk of the deterministic machine: partitions, swap and file system, made by this program
//! itself.

pub(crate) mod ext4;
mod layout;
mod prepare;

pub(crate) use layout::Layout;
pub(crate) use prepare::{delayed, partition, prepare};
