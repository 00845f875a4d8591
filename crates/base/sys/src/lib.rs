//! The only `unsafe` code of thrashlab, behind safe functions.
//!
//! **Invariant:** every exported function is safe to call with any argument, and every `unsafe`
//! block has its reason. Nothing here depends on a load, a probe or a run file.
#![allow(unsafe_code)]

pub mod block_device;
pub mod clock;
pub mod command_counters;
pub mod confine;
pub mod device_mapper;
pub mod device_memory;
pub mod entropy;
pub mod fw_cfg;
pub mod fw_cfg_dma;
pub mod memory;
pub mod namespaces;
pub mod network;
pub mod pagemap;
mod pages;
pub mod perf;
pub mod perf_rings;
pub mod port_io;
pub mod process;
pub mod registers;
pub mod shared_counters;
pub mod shared_words;
pub mod swap;
pub mod sysv;
pub mod touch;
pub mod waiting;
pub mod writeback;

/// The outcome of a system call that returns 0 or fails.
fn done(code: libc::c_int) -> std::io::Result<()> {
    if code == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The outcome of a system call that is repeated while a signal interrupts it.
fn done_in_the_end(mut call: impl FnMut() -> libc::c_int) -> std::io::Result<()> {
    loop {
        match done(call()) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
