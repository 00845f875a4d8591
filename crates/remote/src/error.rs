//! What can go wrong between two machines: what, where, and the next step.

use std::io;

use crate::address::Address;
use crate::wire::Holder;

/// A run that cannot be made on another machine.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The program that is to run there.
    #[error("the program for the other machine: {0}")]
    Program(String),
    /// ssh does not get there.
    #[error("{address} cannot be reached: {said}. {}", next_step(said, address))]
    Ssh {
        /// The machine.
        address: Address,
        /// What ssh said.
        said: String,
    },
    /// It is a machine that the program does not run on.
    #[error(
        "{address} is {machine}, and this program is for {machines}: build thrashlab for it, and \
         name the program with --remote-program FILE"
    )]
    Machine {
        /// The machine.
        address: Address,
        /// What it is.
        machine: String,
        /// What the program runs on.
        machines: String,
    },
    /// The program does not get there, or does not run there.
    #[error("{address}: thrashlab does not run there: {said}. {next}")]
    Install {
        /// The machine.
        address: Address,
        /// What was said there.
        said: String,
        /// What to do.
        next: &'static str,
    },
    /// Somebody else measures there.
    #[error(
        "{address} is leased to {holder}: two experiments at once would measure each other; wait \
         for it with --wait"
    )]
    Busy {
        /// The machine.
        address: Address,
        /// Who measures.
        holder: Holder,
    },
    /// The other side refuses or cannot go on.
    #[error("{address}: {why}")]
    Refused {
        /// The machine.
        address: Address,
        /// Why.
        why: String,
    },
    /// It disappeared.
    #[error(
        "{address} has not come back for {after_s} s: {why}. What it finishes is kept there for \
         {keep_s} s after its end; the same command goes on with it (run: with --resume)"
    )]
    Gone {
        /// The machine.
        address: Address,
        /// For how long it was tried, in s.
        after_s: u64,
        /// What was said last.
        why: String,
        /// How long finished runs are kept there, in s.
        keep_s: u64,
    },
    /// What came is not what was made.
    #[error("{address}: {why}; nothing of it is lost there: start again with the same command")]
    Damaged {
        /// The machine.
        address: Address,
        /// What is wrong.
        why: String,
    },
    /// The results cannot be written.
    #[error("the results cannot be written: {0}; name a folder with room with --output DIR")]
    Results(io::Error),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// What to do about what ssh said.
fn next_step(said: &str, address: &Address) -> String {
    let by_hand = format!("`ssh {}`", address.to_string().trim_start_matches("ssh://"));
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if has(&["Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED"]) {
        format!("Next step: check its key, and accept it by hand once with {by_hand}")
    } else if has(&["Permission denied", "Too many authentication failures"]) {
        "Next step: a key that needs no password (ssh-copy-id, ssh-add); ssh is not asked to ask \
         for one"
            .to_owned()
    } else if has(&["Could not resolve", "Name or service not known"]) {
        "Next step: check the name, or give the host one in ~/.ssh/config".to_owned()
    } else if has(&["ssh: not found", "not found"]) {
        "Next step: install the ssh client, or name another with --ssh COMMAND".to_owned()
    } else if has(&["No route", "Connection refused", "timed out", "unreachable"]) {
        format!("Next step: check that it is up and that {by_hand} works from here")
    } else {
        format!("Next step: try {by_hand} by hand")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_complaint_of_ssh_has_a_next_step() {
        let address: Address = "me@box".parse().unwrap();
        for (said, next) in [
            ("Host key verification failed.", "accept it by hand once with `ssh me@box`"),
            ("me@box: Permission denied (publickey).", "ssh-copy-id"),
            ("ssh: Could not resolve hostname box", "~/.ssh/config"),
            ("ssh: connect to host box port 22: Connection refused", "check that it is up"),
            ("ssh: connect to host box port 22: No route to host", "check that it is up"),
            ("sh: 1: exec: ssh: not found", "install the ssh client"),
            ("kex_exchange_identification: read", "try `ssh me@box` by hand"),
        ] {
            let error = RemoteError::Ssh { address: address.clone(), said: said.to_owned() };
            let told = error.to_string();
            assert!(told.contains(said) && told.contains(next), "{told}");
        }
    }
}
