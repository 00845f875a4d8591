//! The talking side of a session: sends messages and run lines to the connected side, from the byte
//! it asks for. The run never waits for it.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use keep::Spool;
use sys::process::{signal, signals};

use crate::is_name;
use crate::wire::{
    Answer, Ask, Ended, Frame, Holder, LANGUAGE, Opening, Reader, encode, write_run_lines,
};

/// A connection silent for this long counts as broken: the other side pings several times in it.
const SILENCE: Duration = Duration::from_secs(60);
const PIECE_BYTES: u64 = 64 << 10;
/// How often the session checks whether it has to end.
const TICK: Duration = Duration::from_secs(1);

pub(crate) struct Hub {
    state: Mutex<State>,
    changed: Condvar,
    spool: Spool,
}

#[derive(Default)]
struct State {
    /// The current connection; a newer one replaces it.
    connection: Option<(u64, UnixStream)>,
    connections: u64,
    is_ready: bool,
    instance: String,
    who: String,
    lost_since: Option<Instant>,
    tasks: VecDeque<Ask>,
    words: VecDeque<Vec<u8>>,
    is_writing: bool,
    /// The requested or current run, and its size so far in bytes.
    under_way: Option<(String, u64)>,
    /// Finished runs that may not be received yet.
    finished: BTreeMap<String, Ended>,
    /// The run being sent, and the position in it.
    stream: Option<(String, u64)>,
}

impl Hub {
    pub(crate) fn new(spool: Spool) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), spool })
    }

    pub(crate) fn listen(self: &Arc<Self>, listener: UnixListener) {
        let hub = Arc::clone(self);
        thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let hub = Arc::clone(&hub);
                thread::spawn(move || hub.greet(stream));
            }
        });
    }

    /// Reads who is there, then adopts the connection.
    fn greet(self: &Arc<Self>, mut stream: UnixStream) {
        let mut reader = Reader::default();
        if stream.set_read_timeout(Some(SILENCE)).is_ok()
            && let Ok(opening) = reader.opening(&mut stream)
        {
            self.adopt(stream, reader, &opening);
        }
    }

    /// Makes a connection the current one, unless another user's is alive.
    pub(crate) fn adopt(
        self: &Arc<Self>,
        mut stream: UnixStream,
        reader: Reader,
        opening: &Opening,
    ) {
        let Ok(ours) = stream.try_clone() else { return };
        let Ok(write) = stream.try_clone() else { return };
        let mut state = self.lock();
        let hello = encode(&Answer::Hello {
            language: LANGUAGE,
            thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
        });
        if state.connection.is_some() && state.instance != opening.instance {
            let holder = Holder { who: state.who.clone(), ..Holder::default() };
            drop(state);
            let busy = encode(&Answer::Busy { holder, waits: false });
            let _ = stream.write_all(&[hello, busy].concat());
            return;
        }
        if let Some((_, old)) = state.connection.take() {
            let _ = old.shutdown(Shutdown::Both);
        }
        state.connections += 1;
        let id = state.connections;
        state.connection = Some((id, ours));
        state.instance.clone_from(&opening.instance);
        state.who.clone_from(&opening.who);
        state.lost_since = None;
        state.stream = None;
        state.words = VecDeque::from([hello]);
        if state.is_ready {
            state.words.push_back(encode(&Answer::Ready { notes: Vec::new() }));
        }
        drop(state);
        self.changed.notify_all();
        let hub = Arc::clone(self);
        thread::spawn(move || hub.write(id, write));
        let hub = Arc::clone(self);
        thread::spawn(move || hub.read(id, stream, reader));
    }

    pub(crate) fn say(&self, answer: &Answer) {
        self.update(|state| state.words.push_back(encode(answer)));
    }

    /// Announces the lease, to this connection and all later ones.
    pub(crate) fn ready(&self, notes: Vec<String>) {
        self.lock().is_ready = true;
        self.say(&Answer::Ready { notes });
    }

    /// Waits until everything was sent or the connection is lost.
    pub(crate) fn flush(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        while state.connection.is_some() && (!state.words.is_empty() || state.is_writing) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.wait(state, left);
        }
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.lock().connection.is_none()
    }

    /// The next task; `None` without a connection for `patience`, or at once when asked to end.
    pub(crate) fn task(&self, patience: Duration, stopped: impl Fn() -> bool) -> Option<Ask> {
        let mut state = self.lock();
        loop {
            let task = state.tasks.pop_front();
            let is_abandoned = state.lost_since.is_some_and(|since| since.elapsed() >= patience);
            // Stopped by the connected side, it stays until that closes.
            if task.is_some() || is_abandoned || (stopped() && state.connection.is_none()) {
                return task;
            }
            state = self.wait(state, TICK);
        }
    }

    pub(crate) fn grown(&self, size_bytes: u64) {
        self.update(|state| state.under_way.iter_mut().for_each(|(_, size)| *size = size_bytes));
    }

    pub(crate) fn over(&self, ended: Ended) {
        self.update(|state| {
            state.under_way = None;
            state.finished.insert(ended.key.clone(), ended);
        });
    }

    pub(crate) fn unfetched(&self) -> Vec<String> {
        self.lock().finished.keys().cloned().collect()
    }

    pub(crate) fn forget_all(&self) {
        for key in std::mem::take(&mut self.lock().finished).into_keys() {
            self.spool.remove(&key);
        }
    }

    /// Changes the state and wakes all threads that wait for that.
    fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // State after a panic is still usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, limit: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner).0
    }

    fn lose(&self, id: u64) {
        self.update(|state| {
            if let Some((_, stream)) = state.connection.take_if(|(current, _)| *current == id) {
                let _ = stream.shutdown(Shutdown::Both);
                state.lost_since = Some(Instant::now());
            }
        });
    }

    fn read(&self, id: u64, mut stream: UnixStream, mut reader: Reader) {
        let _ = stream.set_read_timeout(Some(SILENCE));
        while let Ok(Some(Frame::Message(ask))) = reader.receive(&mut stream) {
            let mut state = self.lock();
            if state.connection.as_ref().is_none_or(|(current, _)| *current != id) {
                return;
            }
            match ask {
                Ask::Open(_) => {}
                Ask::Ping => state.words.push_back(encode(&Answer::Pong)),
                Ask::Run { ref key, from, .. } if is_name(key) => {
                    self.ask_for(&mut state, key.clone(), from, ask);
                }
                Ask::Run { key, .. } => state.words.push_back(encode(&Answer::Lost { key })),
                Ask::Stop => {
                    // As from outside, so that the thread that waits for a signal gets it.
                    let _ = signal(std::process::id(), signals::TERM);
                }
                Ask::Prepare { .. } | Ask::Close => state.tasks.push_back(ask),
            }
            drop(state);
            self.changed.notify_all();
        }
        self.lose(id);
    }

    /// Sends a run if it exists, else makes it.
    fn ask_for(&self, state: &mut State, key: String, from: u64, run: Ask) {
        // A request for the next run confirms the last one.
        let received: Vec<String> =
            state.finished.keys().filter(|other| **other != key).cloned().collect();
        for other in received {
            state.finished.remove(&other);
            self.spool.remove(&other);
        }
        let is_under_way = state.under_way.as_ref().is_some_and(|(other, _)| *other == key);
        if !is_under_way && !state.finished.contains_key(&key) {
            match self.spool.finished(&key) {
                Some(ended) => {
                    state.finished.insert(key.clone(), ended);
                }
                // Its maker died.
                None if from > 0 => return state.words.push_back(encode(&Answer::Lost { key })),
                None => {
                    state.under_way = Some((key.clone(), 0));
                    state.tasks.push_back(run);
                }
            }
        }
        state.words.push_back(encode(&Answer::Stream { key: key.clone(), from }));
        state.stream = Some((key, from));
    }

    fn write(&self, id: u64, mut stream: UnixStream) {
        let mut state = self.lock();
        loop {
            if state.connection.as_ref().is_none_or(|(current, _)| *current != id) {
                return;
            }
            let Some(bytes) = self.to_say(&mut state) else {
                state = self.wait(state, SILENCE);
                continue;
            };
            state.is_writing = true;
            drop(state);
            let written = stream.write_all(&bytes);
            state = self.lock();
            state.is_writing = false;
            self.changed.notify_all();
            if written.is_err() {
                drop(state);
                return self.lose(id);
            }
        }
    }

    fn to_say(&self, state: &mut State) -> Option<Vec<u8>> {
        if let Some(word) = state.words.pop_front() {
            return Some(word);
        }
        let (key, at) = state.stream.clone()?;
        let ended = state.finished.get(&key);
        let size_bytes = match (ended, &state.under_way) {
            (Some(ended), _) => ended.size_bytes,
            (None, Some((other, size_bytes))) if *other == key => *size_bytes,
            _ => 0,
        };
        if at < size_bytes {
            let lines = whole_lines(self.spool.open(&key).ok()?, at, size_bytes).ok()?;
            state.stream = Some((key, at + lines.len() as u64));
            let mut marked = Vec::with_capacity(lines.len() + 256);
            write_run_lines(&lines, &mut marked).ok()?;
            return Some(marked);
        }
        let word = encode(&Answer::Ended(ended?.clone()));
        state.stream = None;
        Some(word)
    }
}

/// Whole lines of a run from a position on, of what is written.
fn whole_lines(mut run: impl Read + Seek, at: u64, size_bytes: u64) -> io::Result<Vec<u8>> {
    run.seek(SeekFrom::Start(at))?;
    let mut run = BufReader::new(run.take(size_bytes - at));
    let mut bytes = Vec::new();
    (&mut run).take(PIECE_BYTES).read_to_end(&mut bytes)?;
    run.read_until(b'\n', &mut bytes)?;
    bytes.truncate(model::whole_lines::length(&bytes));
    if bytes.is_empty() { Err(io::Error::other("the run has no end of a line")) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_at_a_byte_and_ends_with_a_whole_line() {
        let run = b"{}\n[1]\n";
        let lines = |at, size_bytes| whole_lines(io::Cursor::new(run), at, size_bytes).ok();
        assert_eq!(lines(0, 7).unwrap(), b"{}\n[1]\n");
        assert_eq!(lines(1, 7).unwrap(), b"}\n[1]\n");
        assert_eq!(lines(3, 7).unwrap(), b"[1]\n");
        assert_eq!(lines(0, 5).unwrap(), b"{}\n", "the line that is being written comes later");
        assert_eq!(lines(3, 5), None);
    }
}
