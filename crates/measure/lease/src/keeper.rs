//! The process on the measured host that outlives the connection, holds the lease and makes runs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use agent::Waiter;
use keep::{AgentProgram, Lock, Spool};
use model::{AGENT_FACT, Environment, REMOTE_FACT, Spec};
use subject::{LocalSubject, Stage, StageOptions, resolve};
use sys::clock::realtime_ns;
use sys::process::spawn_detached;

use crate::hub::Hub;
use crate::own_copy::named_hash;
use crate::wire::{Answer, Ask, Ended, Holder, LANGUAGE, Opening, Reader};

/// How often a session waiting for the lease checks whether it is still wanted.
const LOOK: Duration = Duration::from_secs(1);
const KEPT_LOOK: Duration = Duration::from_secs(60);
const LAST_WORD: Duration = Duration::from_secs(10);

/// Starts a detached lease holder, connected to the returned stream.
pub(crate) fn start() -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = AgentProgram::this().command(crate::ROLE);
    command.arg(crate::KEEP).stdin(OwnedFd::from(theirs));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    spawn_detached(&mut command)?;
    Ok(ours)
}

/// Runs a session; standard input is its first connection. Fails only before it is connected.
pub(crate) fn keep() -> Result<(), String> {
    let input = rustix::io::dup(io::stdin()).map_err(|error| error.to_string())?;
    let mut stream = UnixStream::from(input);
    let mut reader = Reader::default();
    let opening = reader.opening(&mut stream)?;
    let spool = Spool::of_user().map_err(|error| error.to_string())?;
    let hub = Hub::new(spool.clone());
    hub.adopt(stream, reader, &opening);
    if let Err(why) = Session::hold(&hub, &spool, &opening) {
        hub.say(&Answer::Failed { why });
    }
    hub.flush(LAST_WORD);
    Ok(())
}

struct Session<'a> {
    hub: &'a Hub,
    spool: &'a Spool,
    opening: &'a Opening,
    waiter: Waiter,
    stage: Stage,
    /// Whether a run was executed, after which the host must settle.
    has_run: bool,
}

impl Session<'_> {
    fn hold(hub: &Arc<Hub>, spool: &Spool, opening: &Opening) -> Result<(), String> {
        if opening.language != LANGUAGE {
            return Err(format!("it speaks protocol {LANGUAGE}, not {}", opening.language));
        }
        let Some(lease) = take_lease(hub, spool, opening)? else { return Ok(()) };
        let (folder, socket) = spool.socket(&opening.session);
        spool.sweep();
        let listener = at_socket(folder, &socket, UnixListener::bind);
        let listener = listener.map_err(|error| format!("socket: {error}"))?;
        hub.listen(listener);
        let socket = folder.join(socket);
        let waiter = Waiter::new().map_err(|error| format!("catch signals: {error}"))?;
        let options =
            StageOptions { facts: facts(opening), outlives_login: true, ..opening.stage.clone() };
        let stage = match Stage::set(options, AgentProgram::this(), &waiter) {
            Ok(stage) => stage,
            Err(error) => {
                let _ = fs::remove_file(socket);
                return Err(error.to_string());
            }
        };
        let mut session = Session { hub, spool, opening, waiter, stage, has_run: false };
        hub.ready(session.stage.notes());
        let closed = session.work();
        let left = session.stage.remove_all();
        // Later connections start their own sessions.
        let _ = fs::remove_file(socket);
        drop(session);
        if let Ok(true) = closed {
            hub.forget_all();
        }
        drop(lease);
        match closed? {
            true => hub.say(&Answer::Closed { left }),
            false => keep_finished(hub, spool, opening),
        }
        Ok(())
    }

    /// Runs the tasks; returns whether the session was closed properly.
    fn work(&mut self) -> Result<bool, String> {
        let patience = Duration::from_nanos(self.opening.patience_ns);
        loop {
            match self.hub.task(patience, || self.waiter.stop_requested()) {
                Some(Ask::Prepare { ticket, subject, sysctls }) => {
                    self.prepare(ticket, subject.as_ref(), &sysctls);
                }
                Some(Ask::Run { key, run_id, spec, .. }) => {
                    self.run(key, &run_id, &spec).map_err(|error| format!("{run_id}: {error}"))?;
                }
                Some(Ask::Close) => return Ok(true),
                Some(Ask::Open(_) | Ask::Ping | Ask::Stop) => {}
                None => return Ok(false),
            }
        }
    }

    fn prepare(
        &mut self,
        ticket: u64,
        asked: Option<&LocalSubject>,
        sysctls: &BTreeMap<String, String>,
    ) {
        let subject = resolve(asked, &mut self.stage).and_then(|resolved| {
            let problems = self.stage.try_parameters(sysctls);
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            if problems.is_empty() { Ok(resolved) } else { Err(problems.join("; ")) }
        });
        self.hub.say(&Answer::Prepared { ticket, subject });
    }

    fn run(&mut self, key: String, run_id: &str, spec: &Spec) -> io::Result<()> {
        if std::mem::replace(&mut self.has_run, true) {
            self.stage.settle(&self.waiter);
        }
        let mut writing = self.spool.begin(&key)?;
        let hub = self.hub;
        let outcome = self.stage.run(spec, run_id, &self.waiter, &mut |line, _| {
            writing.line(line)?;
            hub.grown(writing.size_bytes);
            Ok(())
        });
        let outcome = outcome.map_err(io::Error::other)?;
        let ended = Ended {
            key,
            status: outcome.status,
            death: outcome.death,
            size_bytes: writing.size_bytes,
            blake3: writing.blake3(),
        };
        self.spool.finish(&ended.key, &ended, self.opening.keep_ns)?;
        self.hub.over(ended);
        Ok(())
    }
}

/// What the headers of runs say about this side.
fn facts(opening: &Opening) -> Environment {
    let agent = named_hash().map(|hash| (AGENT_FACT.to_owned(), hash));
    let address = (REMOTE_FACT.to_owned(), opening.address.clone());
    agent.into_iter().chain([address]).collect()
}

/// Keeps unfetched runs until they expire, without the lease.
fn keep_finished(hub: &Hub, spool: &Spool, opening: &Opening) {
    let deadline = Instant::now() + Duration::from_nanos(opening.keep_ns);
    let mut kept = hub.unfetched();
    loop {
        kept.retain(|key| spool.finished::<Ended>(key).is_some());
        let left = deadline.saturating_duration_since(Instant::now());
        if kept.is_empty() || left.is_zero() {
            break;
        }
        thread::sleep(left.min(KEPT_LOOK));
    }
    kept.iter().for_each(|key| spool.remove(key));
}

/// Takes the lease; `None` if it is taken or no longer wanted.
fn take_lease(hub: &Hub, spool: &Spool, opening: &Opening) -> Result<Option<Lock>, String> {
    let path = spool.lock();
    let failed = |error: io::Error| format!("the lease {}: {error}", path.display());
    let holder = Holder { who: opening.who.clone(), since_unix_ns: realtime_ns() };
    let note = serde_json::to_string(&holder).map_err(|error| error.to_string())?;
    let holder = match Lock::take(&path, "", &note).map_err(failed)? {
        Ok(lease) => return Ok(Some(lease)),
        // A note may be cut off.
        Err(note) => serde_json::from_str(&note).unwrap_or_default(),
    };
    hub.say(&Answer::Busy { holder, waits: opening.wait });
    if !opening.wait {
        return Ok(None);
    }
    let (sender, receiver) = mpsc::channel();
    let waiting = path.clone();
    thread::spawn(move || sender.send(Lock::wait(&waiting, "", &note)));
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(lease) => return lease.map(Some).map_err(failed),
            Err(RecvTimeoutError::Timeout) if hub.is_alone() => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// Uses a socket in a folder whose path may exceed the limit of socket paths.
pub(crate) fn at_socket<T>(
    folder: &Path,
    name: &str,
    act: impl FnOnce(PathBuf) -> io::Result<T>,
) -> io::Result<T> {
    let open = File::open(folder)?;
    act(format!("/proc/self/fd/{}/{name}", open.as_raw_fd()).into())
}
