//! A session on a measured host, as the controller sees it. Broken connections are reopened.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use agent::Waiter;
use clap::Args;
use model::units::parse_duration_ns;
use model::{DeathRecord, EndStatus, Line, Spec, SubjectSpec};
use subject::{LocalSubject, Outcome, RunLines, StageOptions};
use sys::clock::monotonic_ns;

use crate::address::Address;
use crate::connect::{Host, LAST_WORDS_NS};
use crate::error::RemoteError;
use crate::link::{Broken, Link};
use crate::names::{absolute, name_of, run_key, user};
use crate::program::Agents;
use crate::receipt::{Receipt, Received};
use lease::wire::{Answer, Ask, Frame, LANGUAGE, Opening, PreparedSubject};

/// First and longest pause between connection attempts, in ns.
const PAUSES_NS: (u64, u64) = (250_000_000, 30_000_000_000);
/// Limit for stopping a run and closing a session, in ns.
const STOP_NS: u64 = 30_000_000_000;
const NEVER_NS: u64 = u64::MAX;

/// Options for subjects on another machine (`ssh://HOST`), and the purpose of a session.
#[derive(Args, Clone, Debug)]
pub struct RemoteOptions {
    /// With ssh://: the ssh command with arguments, as a shell reads it [default: ssh]
    #[arg(long, value_name = "COMMAND")]
    ssh: Option<String>,

    /// With ssh://: wait for a host that another user is measuring
    #[arg(long)]
    wait: bool,

    /// With ssh://: how long to try to reconnect when the connection breaks
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration_ns)]
    reconnect: u64,

    /// With ssh://: how long the host keeps finished runs that could not be fetched
    #[arg(long, value_name = "TIME", default_value = "1440m", value_parser = parse_duration_ns)]
    keep: u64,

    /// What the session is for: a later session for the same run resumes it.
    #[arg(skip)]
    pub purpose: PathBuf,

    /// How the runs there are executed.
    #[arg(skip)]
    pub stage: StageOptions,
}

/// What happens during a run.
pub enum RunEvent<'a> {
    /// A line of the run, newline included, and as it reads.
    Line(&'a [u8], Option<&'a Line>),
    /// Something that the user is to know.
    Note(&'a str),
}

/// The receiver of what happens during a run.
pub type RunListener<'a> = dyn FnMut(RunEvent<'_>) -> io::Result<()> + 'a;

fn sink<'a>(
    hear: &'a mut RunListener<'_>,
) -> impl FnMut(&[u8], Option<&Line>) -> io::Result<()> + 'a {
    |bytes, line| hear(RunEvent::Line(bytes, line))
}

/// A session.
pub struct Session {
    host: Host,
    reconnect_ns: u64,
    link: Option<Link>,
    tickets: u64,
    /// The requested subject by its resolved form, for the names of runs.
    asked: BTreeMap<String, Option<LocalSubject>>,
    stopped: bool,
}

impl Session {
    /// Connects, installs the program if needed, and takes the lease. Fails when the
    /// machine cannot be reached or refuses, with the next step.
    pub fn open(
        address: &Address,
        options: &RemoteOptions,
        waiter: &Waiter,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, RemoteError> {
        let host = Host {
            address: address.clone(),
            ssh: options.ssh.clone().unwrap_or_else(|| "ssh".to_owned()),
            agents: Agents::of_this_build(),
            opening: opening(address, options),
        };
        let (link, notes) = host.connect(waiter, say)?;
        notes.iter().for_each(|note| say(note));
        Ok(Self {
            host,
            reconnect_ns: options.reconnect,
            link: Some(link),
            tickets: 0,
            asked: BTreeMap::new(),
            stopped: false,
        })
    }

    /// The machine.
    pub fn address(&self) -> &Address {
        &self.host.address
    }

    /// Checks a subject and parameters there; returns the resolved subject and a note, or why not.
    pub fn prepare(
        &mut self,
        asked: Option<&LocalSubject>,
        sysctls: &BTreeMap<String, String>,
        waiter: &Waiter,
        say: &mut dyn FnMut(&str),
    ) -> Result<(SubjectSpec, Option<String>), RemoteError> {
        self.tickets += 1;
        let ticket = self.tickets;
        let ask = Ask::Prepare { ticket, subject: asked.cloned(), sysctls: sysctls.clone() };
        loop {
            match self.answer(&ask, waiter, ticket) {
                Ok(None) => return Err(RemoteError::Interrupted),
                Ok(Some(prepared)) => {
                    let (subject, note) = prepared.map_err(|why| self.host.refused(&why))?;
                    // Runs are named by the requested subject.
                    let resolved = serde_json::to_string(&subject).unwrap_or_default();
                    self.asked.insert(resolved, asked.cloned());
                    return Ok((subject, note));
                }
                Err(Failed::Fatal(error)) => return Err(error),
                Err(Failed::Broken(broken)) => self.reconnect(&broken, waiter, say)?,
            }
        }
    }

    fn answer(
        &mut self,
        ask: &Ask,
        waiter: &Waiter,
        expected: u64,
    ) -> Result<Option<PreparedSubject>, Failed> {
        let Some(link) = &mut self.link else { return Err(Broken::Closed.into()) };
        link.ask(ask)?;
        loop {
            match link.receive(waiter, NEVER_NS)? {
                None => return Ok(None),
                Some(Frame::Message(Answer::Prepared { ticket, subject }))
                    if ticket == expected =>
                {
                    return Ok(Some(subject));
                }
                Some(Frame::Message(Answer::Failed { why })) => {
                    return Err(self.host.refused(&why).into());
                }
                Some(_) => {}
            }
        }
    }

    /// Makes one run there, once for its results `folder`, and passes its lines on. Fails when the
    /// host does not come back, refuses, or lines cannot be passed on. All else is an [`Outcome`].
    pub fn run(
        &mut self,
        spec: &Spec,
        run_id: &str,
        folder: &Path,
        waiter: &Waiter,
        hear: &mut RunListener<'_>,
    ) -> Result<Outcome, RemoteError> {
        let subject = serde_json::to_string(&spec.subject).unwrap_or_default();
        let asked = self.asked.get(&subject).cloned().flatten();
        let key = run_key(&self.host.address, folder, run_id, spec, asked.as_ref());
        let mut run = Run {
            order: (key.clone(), run_id.to_owned(), Box::new(spec.clone())),
            receipt: Receipt::new(&key),
            lines: RunLines::default(),
            stop_ns: None,
        };
        loop {
            match self.follow(&mut run, waiter, hear) {
                Ok(outcome) => return Ok(outcome),
                Err(Failed::Fatal(error)) => return Err(error),
                Err(Failed::Broken(broken)) => {
                    run.receipt.broken();
                    let mut note = |text: &str| {
                        // A lost note does not stop the run.
                        let _ = hear(RunEvent::Note(text));
                    };
                    self.reconnect(&broken, waiter, &mut note)?;
                }
            }
        }
    }

    fn follow(
        &mut self,
        run: &mut Run,
        waiter: &Waiter,
        hear: &mut RunListener<'_>,
    ) -> Result<Outcome, Failed> {
        let host = &self.host;
        let damaged = |why: String| {
            let next = "nothing is lost there: run the same command again";
            host.refused(&format!("{why}; {next}"))
        };
        let Some(link) = &mut self.link else { return Err(Broken::Closed.into()) };
        let (key, run_id, spec) = run.order.clone();
        link.ask(&Ask::Run { key, run_id, spec, from: run.receipt.size_bytes })?;
        // Repeated on a new connection: the old one may not have carried it.
        let mut asked_to_stop = false;
        loop {
            if waiter.stop_requested() && !asked_to_stop {
                link.ask(&Ask::Stop)?;
                asked_to_stop = true;
                self.stopped = true;
                run.stop_ns.get_or_insert(monotonic_ns() + STOP_NS);
            }
            let until_ns = run.stop_ns.unwrap_or(NEVER_NS);
            let Some(said) = link.receive(waiter, until_ns)? else {
                match monotonic_ns() >= until_ns {
                    true => return Err(RemoteError::Interrupted.into()),
                    false => continue,
                }
            };
            let received = run.receipt.take(said).map_err(damaged)?;
            match received {
                Received::Line(line) => {
                    let pushed = run.lines.push(&line, &mut sink(hear));
                    pushed.map_err(RemoteError::Results)?;
                }
                Received::Whole(ended) => {
                    return Ok(Outcome { status: ended.status, death: ended.death });
                }
                Received::Lost => {
                    let why =
                        format!("{} has lost the run: it was rebooted, or killed", host.address);
                    hear(RunEvent::Note(&why)).map_err(RemoteError::Results)?;
                    let (status, at_ns) = (EndStatus::Killed, run.lines.last_ns);
                    let death = DeathRecord { at_ns, cause: why.clone(), log: Vec::new() };
                    let ended = run.lines.end_early(at_ns, status, Some(death), &mut sink(hear));
                    ended.map_err(RemoteError::Results)?;
                    return Ok(Outcome { status, death: Some(why) });
                }
                Received::Other(Answer::Failed { why }) => {
                    return Err(host.refused(&why).into());
                }
                Received::Other(_) => {}
            }
        }
    }

    fn reconnect(
        &mut self,
        broken: &Broken,
        waiter: &Waiter,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), RemoteError> {
        let said = self.link.take().map_or_else(String::new, |mut link| {
            if *broken == Broken::Closed {
                link.end(waiter, LAST_WORDS_NS);
            }
            link.error_output()
        });
        let begun_ns = monotonic_ns();
        let mut until_ns = begun_ns.saturating_add(self.reconnect_ns);
        let mut why = if said.is_empty() { broken.to_string() } else { said };
        say(&format!(
            "the connection to {} broke ({why}); its run continues; trying to reconnect for {} s",
            self.host.address,
            self.reconnect_ns / 1_000_000_000
        ));
        let (mut pause_ns, mut gives_up) = (PAUSES_NS.0, false);
        loop {
            match self.host.connect(waiter, &mut |_| {}) {
                Ok((link, _)) => {
                    self.link = Some(link);
                    say(&format!("reconnected to {}", self.host.address));
                    return Ok(());
                }
                Err(error) => why = error.to_string(),
            }
            if waiter.stop_requested() && !gives_up {
                gives_up = true;
                say(&format!(
                    "{} is unreachable and cannot be stopped: its run continues to the end",
                    self.host.address
                ));
                until_ns = until_ns.min(monotonic_ns().saturating_add(STOP_NS / 3));
            }
            let now_ns = monotonic_ns();
            if now_ns >= until_ns {
                return Err(RemoteError::Failed(format!(
                    "{} has not come back for {} s: {why}. What it finishes is kept there for {} s \
                     after its end; run the same command again to resume it (run: with --resume)",
                    self.host.address,
                    (now_ns - begun_ns) / 1_000_000_000,
                    self.host.opening.keep_ns / 1_000_000_000
                )));
            }
            let next_ns = now_ns.saturating_add(pause_ns).min(until_ns);
            while monotonic_ns() < next_ns && waiter.stop_requested() == gives_up {
                waiter.wait(None, next_ns);
            }
            pause_ns = if gives_up { PAUSES_NS.0 } else { (pause_ns * 2).min(PAUSES_NS.1) };
        }
    }

    /// Confirms all runs and has the host clean up. Returns what could not be removed there.
    pub fn close(&mut self, waiter: &Waiter) -> Vec<String> {
        let Some(mut link) = self.link.take() else { return Vec::new() };
        let until_ns = monotonic_ns() + STOP_NS;
        let mut asked = Ok(());
        if waiter.stop_requested() && !self.stopped {
            asked = link.ask(&Ask::Stop);
        }
        if asked.and_then(|()| link.ask(&Ask::Close)).is_err() {
            return vec![format!(
                "{}: the connection broke before it was closed",
                self.host.address
            )];
        }
        while monotonic_ns() < until_ns {
            match link.receive(waiter, until_ns) {
                Ok(Some(Frame::Message(Answer::Closed { left }))) => {
                    let at = |what: &String| format!("{}: {what}", self.host.address);
                    return left.iter().map(at).collect();
                }
                Ok(Some(Frame::Message(Answer::Failed { why }))) => {
                    return vec![format!("{}: {why}", self.host.address)];
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        vec![format!("{}: it has not confirmed that it cleaned up", self.host.address)]
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Something failed here: the run there is no longer wanted.
        if let Some(link) = &mut self.link {
            let _ = link.ask(&Ask::Stop).and_then(|()| link.ask(&Ask::Close));
            // Nobody waits for the cleanup, but ssh must deliver the messages.
            link.drain();
        }
    }
}

struct Run {
    order: (String, String, Box<Spec>),
    receipt: Receipt,
    lines: RunLines,
    stop_ns: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error(transparent)]
    Fatal(#[from] RemoteError),
}

fn opening(address: &Address, options: &RemoteOptions) -> Opening {
    let user = user();
    let StageOptions { work_dir, swap_bytes, freeze, .. } = &options.stage;
    let settings = format!("{work_dir:?} {swap_bytes:?} {freeze:?}");
    let purpose = absolute(&options.purpose);
    Opening {
        language: LANGUAGE,
        session: name_of(&[&user, &address.to_string(), &purpose, &settings]),
        instance: name_of(&[&user, &keep::unique::token()]),
        who: user,
        address: address.to_string(),
        wait: options.wait,
        patience_ns: options.reconnect.saturating_add(options.reconnect / 2),
        keep_ns: options.keep,
        stage: options.stage.clone(),
    }
}
