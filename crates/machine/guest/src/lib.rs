//! The inside of the deterministic machine: its first process.
//!
//! It mounts, loads modules, makes the slow disk and applies settings, then pauses the machine,
//! which the host saves. From there each cell reads its [`Cell`], applies the seed, and makes the
//! run on a [`subject::Stage`], as on any machine.
//!
//! **Invariant:** input and output happen at an exact instruction (a register of a device).

mod applet;
mod btf;
mod cell;
mod channel;
mod device;
mod disk;
mod fw_cfg;
mod init;
mod kernel_log;
mod protocol;
mod room;
mod root;
mod settings;
mod shell;
mod symbols;

pub use applet::applet;
pub use init::main;
pub use protocol::{
    BUSYBOX, CELL_FILE, CHANNEL_PORT, CHANNEL_SLOT, Cell, DiskFigure, DiskPattern, DiskPhase,
    EXIT_PORT, MODULES_DIR, NOTICE, Notice, OVERLAY_DIR, PAUSE_PORT, PAUSE_SLOT, PROGRAM, ROLE,
    ROOT_FILE, RootSetup, SETUP_FILE, SYMBOLS_CELL, Setup, TOOL_LIBRARIES, TOOL_LOADER, TOOLS_DIR,
    Then, ZramFigure,
};

/// For `map_err`: names the step at which the guest cannot continue.
fn at<E: std::fmt::Display>(step: impl std::fmt::Display) -> impl FnOnce(E) -> String {
    move |error| format!("{step}: {error}")
}
