//! The inside of the deterministic machine: what runs as its first process.

pub mod disk;
