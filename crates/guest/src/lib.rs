//! The inside of the deterministic machine: what runs as its first process.
//!
//! The static binary is the guest's `/init`. It mounts, loads modules, makes the slow disk and
//! applies the machine's settings; then it pauses the whole machine, which the host saves. What
//! goes on from there, once for each cell, reads its [`Cell`] from the host, perturbs what the seed
//! may perturb, and makes the run on a [`subject::Stage`], as on any machine.
//!
//! **Invariant:** everything that goes in or out does so at an exact instruction (port I/O), never
//! through a device that answers when the host is ready.

mod applet;
mod cell;
mod channel;
mod disk;
mod failed;
mod fw_cfg;
mod init;
mod kernel_log;
mod protocol;
mod settings;
mod shell;

pub use applet::applet;
pub use init::main;
pub use protocol::{
    BUSYBOX, CELL_FILE, CHANNEL_PORT, COMMAND, Cell, EXIT_PORT, MODULES_DIR, NOTICE, Notice,
    PAUSE_PORT, PROGRAM, SETUP_FILE, Setup, Then,
};
