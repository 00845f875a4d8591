//! From nothing to a session that has the lease.

use agent::Waiter;
use sys::clock::monotonic_ns;

use crate::address::Address;
use crate::error::RemoteError;
use crate::link::{Broken, Link, Ssh};
use crate::program::{OTHER_MACHINE, Program};
use crate::wire::{Answer, Ask, LANGUAGE, Opening, Said};

/// How long the first word may take: ssh's own limit, and a slow start.
const HELLO_NS: u64 = 60_000_000_000;
/// How long the program may take on its way, in ns.
const INSTALL_NS: u64 = 3_600_000_000_000;
/// How long ssh may take to say what went wrong, in ns.
pub(crate) const LAST_WORDS_NS: u64 = 5_000_000_000;
/// Code of ssh when it does not get there (ssh(1)).
const SSH_FAILED: i32 = 255;
/// Code of the script when the machine is another one.
const MACHINE_CODE: i32 = 65;

/// A session, ready.
pub(crate) struct Connected {
    pub(crate) link: Link,
    /// What the user is to know.
    pub(crate) notes: Vec<String>,
}

/// Who is to be reached, and how.
struct Way<'a> {
    ssh: &'a Ssh,
    address: &'a Address,
    program: &'a Program,
    waiter: &'a Waiter,
}

/// Connects; copies the program if it is not there, or damaged.
///
/// # Errors
/// What went wrong, with the next step.
pub(crate) fn connect(
    ssh: &Ssh,
    address: &Address,
    program: &Program,
    opening: &Opening,
    waiter: &Waiter,
    say: &mut dyn FnMut(&str),
) -> Result<Connected, RemoteError> {
    let way = Way { ssh, address, program, waiter };
    let link = match way.greet(opening)? {
        Ok(link) => link,
        Err(_) => {
            say(&format!("copying this program to {address}"));
            way.install()?;
            way.greet(opening)?.map_err(|said| way.not_run(&said))?
        }
    };
    way.await_lease(link, say)
}

impl Way<'_> {
    /// Calls the program there. If it is not there, or does not run, what was said.
    fn greet(&self, opening: &Opening) -> Result<Result<Link, String>, RemoteError> {
        let mut link = self.start(&self.program.attach())?;
        let until_ns = monotonic_ns() + HELLO_NS;
        let heard = link
            .ask(&Ask::Open(Box::new(opening.clone())))
            .and_then(|()| link.hear(self.waiter, until_ns));
        match heard {
            Ok(Some(Said::Word(Answer::Hello { language: LANGUAGE, .. }))) => Ok(Ok(link)),
            Ok(Some(said)) => {
                Err(self.refused(&format!("it answers in another language: {said:?}")))
            }
            Ok(None) if self.waiter.stop_requested() => Err(RemoteError::Interrupted),
            Ok(None) | Err(Broken::Silent) => {
                let said = format!("nobody answered for {} s", HELLO_NS / 1_000_000_000);
                Err(self.unreachable(&said))
            }
            Err(Broken::Garbled(why)) => Err(self.refused(&why)),
            Err(Broken::Closed) => {
                let status = link.end(self.waiter, LAST_WORDS_NS);
                let said = link.said();
                match status.and_then(|status| status.code()) {
                    // One that is killed there ends as if ssh had failed, but ssh would say why.
                    Some(code) if code != SSH_FAILED || said.is_empty() => Ok(Err(said)),
                    _ if self.waiter.stop_requested() => Err(RemoteError::Interrupted),
                    _ => Err(self.unreachable(&said)),
                }
            }
        }
    }

    /// Copies the program there.
    fn install(&self) -> Result<(), RemoteError> {
        let bytes = self.program.bytes().map_err(RemoteError::program)?;
        let mut link = self.start(&self.program.install())?;
        link.give(bytes);
        let status = link.end(self.waiter, INSTALL_NS);
        if self.waiter.stop_requested() {
            return Err(RemoteError::Interrupted);
        }
        let said = link.said();
        match status.and_then(|status| status.code()) {
            Some(0) => Ok(()),
            Some(MACHINE_CODE) => {
                let machine = said.rsplit(OTHER_MACHINE).next().unwrap_or_default();
                let machines = self.program.machines();
                Err(RemoteError::Failed(format!(
                    "{} is {machine}, and this program is for {machines}: build thrashlab for it, \
                     and name the program with --remote-program FILE",
                    self.address
                )))
            }
            Some(SSH_FAILED) | None => Err(self.unreachable(&said)),
            Some(_) => Err(self.not_run(&said)),
        }
    }

    /// Waits for the lease.
    fn await_lease(
        &self,
        mut link: Link,
        say: &mut dyn FnMut(&str),
    ) -> Result<Connected, RemoteError> {
        let address = self.address;
        loop {
            match link.hear(self.waiter, u64::MAX) {
                Ok(Some(Said::Word(Answer::Ready { notes }))) => {
                    return Ok(Connected { link, notes });
                }
                Ok(Some(Said::Word(Answer::Busy { holder, waits: false }))) => {
                    return Err(RemoteError::Failed(format!(
                        "{address} is leased to {holder}: two experiments at once would measure \
                         each other; wait for it with --wait"
                    )));
                }
                Ok(Some(Said::Word(Answer::Busy { holder, waits: true }))) => {
                    say(&format!("{address} is leased to {holder}; waiting for it"));
                }
                Ok(Some(Said::Word(Answer::Failed { why }))) => return Err(self.refused(&why)),
                Ok(Some(_)) => {}
                Ok(None) if self.waiter.stop_requested() => return Err(RemoteError::Interrupted),
                Ok(None) => {}
                Err(broken) => {
                    link.end(self.waiter, LAST_WORDS_NS);
                    let said = link.said();
                    let said = if said.is_empty() { broken.to_string() } else { said };
                    return Err(self.unreachable(&said));
                }
            }
        }
    }

    fn start(&self, command: &str) -> Result<Link, RemoteError> {
        Link::start(self.ssh, self.address, command)
            .map_err(|error| self.unreachable(&format!("start ssh: {error}")))
    }

    fn unreachable(&self, said: &str) -> RemoteError {
        RemoteError::unreachable(self.address, said)
    }

    fn refused(&self, why: &str) -> RemoteError {
        RemoteError::refused(self.address, why)
    }

    fn not_run(&self, said: &str) -> RemoteError {
        let next = if said.contains("ssh: not found") {
            return self.unreachable(said);
        } else if !self.program.is_static {
            "This program needs the libraries of this system: `make build` makes one that does not, \
             and --remote-program FILE names it"
        } else {
            "It lies in ~/.cache/thrashlab/bin there, which must be a folder from which programs \
             may be run and with room for it; XDG_CACHE_HOME there names another"
        };
        let said = if said.is_empty() { "it says nothing" } else { said };
        self.refused(&format!("thrashlab does not run there: {said}. {next}"))
    }
}
