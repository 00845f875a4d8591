//! Runs on another machine through ssh, with one copy of the agent there (`docs/remote.md`).
//!
//! **Invariant:** a run never waits for the network and is never executed twice: its lines are
//! written on the measured host first, and sent from the first missing byte.

mod address;
mod connect;
mod error;
mod link;
mod names;
mod program;
mod receipt;
mod session;

pub use address::Address;
pub use error::RemoteError;
pub use session::{RemoteOptions, RunEvent, RunListener, Session};
