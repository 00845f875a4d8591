//! The loads, one file each, and code that several of them share.

pub(crate) mod cpuload;
pub(crate) mod ctx_mem_2;
pub(crate) mod ctx_mem_8;
mod file_writer;
pub(crate) mod largewrite;
pub(crate) mod noload;
pub(crate) mod smallwrite;
pub(crate) mod spawnload;
mod token_ring;
