//! What can go wrong between two machines: what, where, and the next step.

use std::io;

use crate::address::Address;

/// A run that cannot be made on another machine.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// What went wrong, on which machine, and the next step.
    #[error("{0}")]
    Failed(String),
    /// The results cannot be written.
    #[error("the results cannot be written: {0}; name a folder with room with --output DIR")]
    Results(io::Error),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl RemoteError {
    /// The program that is to run there cannot be used.
    pub(crate) fn program(why: String) -> Self {
        Self::Failed(format!("the program for the other machine: {why}"))
    }

    /// ssh does not get there, and has said this.
    pub(crate) fn unreachable(address: &Address, said: &str) -> Self {
        let said = if said.is_empty() { "ssh says nothing" } else { said };
        Self::Failed(format!("{address} cannot be reached: {said}. {}", next_step(said, address)))
    }

    /// The other side refuses or cannot go on.
    pub(crate) fn refused(address: &Address, why: &str) -> Self {
        Self::Failed(format!("{address}: {why}"))
    }
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
            let error = RemoteError::unreachable(&address, said);
            let told = error.to_string();
            assert!(told.contains(said) && told.contains(next), "{told}");
        }
    }
}
