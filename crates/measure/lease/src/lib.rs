//! The far side of a measured machine that is reached through ssh (`docs/remote.md`).
//!
//! `attach` relays the messages of one connection and may die at any time. `keep` holds the lease,
//! makes the runs and spools their lines; it lives without a connection. [`wire`] is what both sides
//! send.
//!
//! **Invariant:** a run never waits for the network and is never executed twice: its lines are
//! written on the measured host first, and sent from the first missing byte.

mod attach;
mod hub;
mod keeper;
mod own_copy;
pub mod wire;

/// First argument of the agent that makes it the far side.
pub const ROLE: &str = "remote";
/// Second argument: relay one connection.
pub const ATTACH: &str = "attach";
/// Second argument: hold the lease.
pub const KEEP: &str = "keep";
/// Second argument: compare this program with the hash that follows.
pub const VERIFY: &str = "verify";

/// Attaches to a session, keeps one, or verifies this program. The other end shows the error.
pub fn serve(arguments: &[String]) -> Result<(), String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [ATTACH] => attach::attach(),
        [KEEP] => keeper::keep(),
        [VERIFY, hash] => own_copy::verify(Some(hash)),
        _ => Err("it is used by thrashlab itself".to_owned()),
    }
}

/// Whether a text can be the name of a session or a run: hexadecimal digits, at most 64.
pub fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    !text.is_empty() && text.len() <= MOST && text.bytes().all(plain)
}

const MOST: usize = 64;
