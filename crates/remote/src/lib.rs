//! Runs on another machine through ssh, with one copy of this program there (`docs/remote.md`).
//!
//! **Invariant:** a run never waits for the network and is never executed twice: its lines are
//! written on the measured host first, and sent from the first missing byte.

mod address;
mod attach;
mod connect;
mod error;
mod hub;
mod keeper;
mod link;
mod names;
mod program;
mod receipt;
mod session;
mod wire;

pub use address::Address;
pub use error::RemoteError;
pub use session::{RemoteOptions, RunEvent, RunListener, Session};

/// Name of the hidden command that is the other side.
pub const COMMAND: &str = "__remote";

/// Attaches to a session, keeps one, or verifies this program. The other end shows the error.
pub fn serve(arguments: &[String]) -> Result<(), String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["attach"] => attach::attach(),
        ["keep"] => keeper::keep(),
        ["verify", hash] => attach::verify(Some(hash)),
        _ => Err("it is used by thrashlab itself".to_owned()),
    }
}
