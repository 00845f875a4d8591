//! Runs on another machine, through the system's ssh: no daemon there, no root, and nothing to
//! install but one copy of this program.
//!
//! ```text
//! controller ── ssh ── attach ── keeper ── stage, agent, prober, workers: as everywhere
//!   Session            passes on   holds the lease, spools the lines of the run;
//!                                  lives in a session of its own, whoever is connected
//! ```
//!
//! **Invariant:** a run never waits for the network, and is never made twice: its lines are written
//! on the measured host first, and said from there, from the byte that is missing.

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
pub use receipt::{Receipt, Received};
pub use session::{RemoteOptions, RunEvent, RunListener, Session};
pub use wire::{
    Answer, Ask, Ended, Frame, Holder, LANGUAGE, MOST_LINE_BYTES, Opening, Reader, WireError,
    encode, write_run_lines,
};

/// Name of the hidden command that is the other side.
pub const COMMAND: &str = "__remote";

/// The other side: connects ssh with a session, keeps one, or looks whether this program is whole.
/// The error says why it cannot; the other end of the connection shows it.
pub fn serve(arguments: &[String]) -> Result<(), String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [attach::ATTACH] => attach::attach(),
        [keeper::KEEP] => keeper::keep(),
        [attach::VERIFY, hash] => attach::verify(Some(hash)),
        _ => Err("it is used by thrashlab itself".to_owned()),
    }
}
