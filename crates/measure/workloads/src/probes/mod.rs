//! The probes, one file each.

mod elf;
pub(crate) mod exec;
pub(crate) mod fault;
pub(crate) mod fileops;
pub(crate) mod response;
pub(crate) mod wake;
