//! The disk of the deterministic machine: partitions, file system and swap, made by this program
//! itself.

pub mod ext4;
