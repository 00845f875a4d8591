//! Connects to a host and takes its lease.

use agent::Waiter;
use jiff::Timestamp;
use lease::wire::{Answer, Ask, Frame, Holder, LANGUAGE, Opening};
use sys::clock::monotonic_ns;

use crate::address::Address;
use crate::error::RemoteError;
use crate::link::{Broken, Link};
use crate::program::{Agents, ask_machine, install};

/// ssh's own limit and a slow start.
const HELLO_NS: u64 = 60_000_000_000;
const INSTALL_NS: u64 = 3_600_000_000_000;
/// How long ssh may take to report an error, in ns.
pub(crate) const LAST_WORDS_NS: u64 = 5_000_000_000;
/// Exit code of ssh when it cannot connect (ssh(1)).
const SSH_FAILED: i32 = 255;

pub(crate) struct Host {
    pub(crate) address: Address,
    /// The ssh command with arguments, in shell syntax.
    pub(crate) ssh: String,
    pub(crate) agents: Agents,
    pub(crate) opening: Opening,
}

impl Host {
    /// Connects, copies a missing or damaged program, and takes the lease. Also returns notes.
    pub(crate) fn connect(
        &self,
        waiter: &Waiter,
        say: &mut dyn FnMut(&str),
    ) -> Result<(Link, Vec<String>), RemoteError> {
        let link = match self.greet(waiter)? {
            Ok(link) => link,
            Err(_) => {
                say(&format!("copying the agent to {}", self.address));
                self.install(waiter)?;
                self.greet(waiter)?.map_err(|said| self.not_run(&said))?
            }
        };
        self.await_lease(link, waiter, say)
    }

    /// Starts the program there; if it is missing or fails, returns its error output.
    fn greet(&self, waiter: &Waiter) -> Result<Result<Link, String>, RemoteError> {
        let mut link = self.start(&self.agents.attach())?;
        let until_ns = monotonic_ns() + HELLO_NS;
        let heard = link
            .ask(&Ask::Open(Box::new(self.opening.clone())))
            .and_then(|()| link.receive(waiter, until_ns));
        match heard {
            Ok(Some(Frame::Message(Answer::Hello { language: LANGUAGE, .. }))) => Ok(Ok(link)),
            Ok(Some(said)) => {
                Err(self.refused(&format!("its answer is not in our protocol: {said:?}")))
            }
            Ok(None) if waiter.stop_requested() => Err(RemoteError::Interrupted),
            Ok(None) | Err(Broken::Silent) => {
                let said = format!("no answer for {} s", HELLO_NS / 1_000_000_000);
                Err(unreachable(&self.address, &said))
            }
            Err(Broken::Garbled(why)) => Err(self.refused(&why)),
            Err(Broken::Closed) => {
                let status = link.end(waiter, LAST_WORDS_NS);
                let said = link.error_output();
                match status.and_then(|status| status.code()) {
                    // A program killed there looks like a failure of ssh, but ssh would report one.
                    Some(code) if code != SSH_FAILED || said.is_empty() => Ok(Err(said)),
                    _ if waiter.stop_requested() => Err(RemoteError::Interrupted),
                    _ => Err(unreachable(&self.address, &said)),
                }
            }
        }
    }

    fn install(&self, waiter: &Waiter) -> Result<(), RemoteError> {
        let machine = self.machine(waiter)?;
        let agent = self.agents.of_machine(&machine).ok_or_else(|| self.other(&machine))?;
        let mut link = self.start(&install(agent))?;
        link.give(agent.bytes.clone());
        let status = link.end(waiter, INSTALL_NS);
        if waiter.stop_requested() {
            return Err(RemoteError::Interrupted);
        }
        let said = link.error_output();
        match status.and_then(|status| status.code()) {
            Some(0) => Ok(()),
            Some(SSH_FAILED) | None => Err(unreachable(&self.address, &said)),
            Some(_) => Err(self.not_run(&said)),
        }
    }

    /// The system and the machine of the host, as `uname -sm` prints them.
    fn machine(&self, waiter: &Waiter) -> Result<String, RemoteError> {
        let mut link = self.start(&ask_machine())?;
        let status = link.end(waiter, HELLO_NS);
        if waiter.stop_requested() {
            return Err(RemoteError::Interrupted);
        }
        let said = link.error_output();
        match status.and_then(|status| status.code()) {
            // A login shell may have printed more.
            Some(0) => Ok(said.lines().last().unwrap_or_default().to_owned()),
            _ => Err(unreachable(&self.address, &said)),
        }
    }

    fn other(&self, machine: &str) -> RemoteError {
        RemoteError::Failed(format!(
            "{} is {machine}, and this build of thrashlab has agents for {} only: install a \
             package, which has all, or build it with `make build AGENTS=ARCHITECTURE`",
            self.address,
            self.agents.machines()
        ))
    }

    fn await_lease(
        &self,
        mut link: Link,
        waiter: &Waiter,
        say: &mut dyn FnMut(&str),
    ) -> Result<(Link, Vec<String>), RemoteError> {
        let address = &self.address;
        loop {
            match link.receive(waiter, u64::MAX) {
                Ok(Some(Frame::Message(Answer::Ready { notes }))) => return Ok((link, notes)),
                Ok(Some(Frame::Message(Answer::Busy { holder, waits: false }))) => {
                    return Err(RemoteError::Failed(format!(
                        "{address} is leased to {}: two experiments at once would measure \
                         each other; wait for it with --wait",
                        named(&holder)
                    )));
                }
                Ok(Some(Frame::Message(Answer::Busy { holder, waits: true }))) => {
                    say(&format!("{address} is leased to {}; waiting for it", named(&holder)));
                }
                Ok(Some(Frame::Message(Answer::Failed { why }))) => return Err(self.refused(&why)),
                Ok(Some(_)) => {}
                Ok(None) if waiter.stop_requested() => return Err(RemoteError::Interrupted),
                Ok(None) => {}
                Err(broken) => {
                    link.end(waiter, LAST_WORDS_NS);
                    let said = link.error_output();
                    let said = if said.is_empty() { broken.to_string() } else { said };
                    return Err(unreachable(&self.address, &said));
                }
            }
        }
    }

    fn start(&self, command: &str) -> Result<Link, RemoteError> {
        Link::start(&self.ssh, &self.address, command)
            .map_err(|error| unreachable(&self.address, &format!("start ssh: {error}")))
    }

    pub(crate) fn refused(&self, why: &str) -> RemoteError {
        RemoteError::Failed(format!("{}: {why}", self.address))
    }

    fn not_run(&self, said: &str) -> RemoteError {
        let next = if said.contains("ssh: not found") {
            return unreachable(&self.address, said);
        } else {
            "It is copied to ~/.cache/thrashlab/bin there, which needs space and must allow \
             execution; XDG_CACHE_HOME there selects another folder"
        };
        let said = if said.is_empty() { "it printed nothing" } else { said };
        self.refused(&format!("thrashlab does not run there: {said}. {next}"))
    }
}

/// Who holds a lease, and since when.
fn named(holder: &Holder) -> String {
    let since = Timestamp::from_nanosecond(i128::from(holder.since_unix_ns))
        .map(|since| since.strftime("%Y-%m-%d %H:%M:%SZ").to_string());
    match (holder.who.as_str(), since) {
        ("", _) => "an unnamed user".to_owned(),
        (who, Ok(since)) => format!("{who} since {since}"),
        (who, Err(_)) => who.to_owned(),
    }
}

fn unreachable(address: &Address, said: &str) -> RemoteError {
    let said = if said.is_empty() { "ssh printed nothing" } else { said };
    let next = next_step(said, address);
    RemoteError::Failed(format!("{address} cannot be reached: {said}. {next}"))
}

fn next_step(said: &str, address: &Address) -> String {
    let by_hand = format!("`ssh {}`", address.to_string().trim_start_matches("ssh://"));
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if has(&["Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED"]) {
        format!("Next step: check its key, and accept it by hand once with {by_hand}")
    } else if has(&["Permission denied", "Too many authentication failures"]) {
        "Next step: a key that needs no password (ssh-copy-id, ssh-add); ssh is run \
         without prompts"
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
            let error = unreachable(&address, said);
            let told = error.to_string();
            assert!(told.contains(said) && told.contains(next), "{told}");
        }
    }
}
