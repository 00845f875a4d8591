//! Records the memory references of a running program under QEMU user-mode emulation with our
//! plugin, or under valgrind's lackey. A [`Recording`] is a [`trace::Source`], like a trace file.
//!
//! **Invariant:** nothing is left behind, whichever process is killed: plugin and shared memory
//! have no names, and a cleanup process ends the traced processes.

mod emulated;
#[cfg_attr(not(test), expect(dead_code, reason = "the rest is for the plugin"))]
#[path = "../../trace-plugin/src/launch.rs"]
mod launch;
mod processes;
mod program;
mod recording;
mod request;
mod shared;
mod slots;
mod stream;
mod takers;
mod uncached;
mod valgrind;
#[expect(dead_code, reason = "the rest is for the plugin")]
#[path = "../../trace-plugin/src/wire.rs"]
mod wire;
mod write;

pub use recording::Recording;
pub use request::{Ended, Request, Tool, TracerError};
pub use write::Written;
