//! The black box's writer: a thread, so that the watch continues while the disk does not take
//! anything.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::Ring;
use doctor::{Snapshot, recording_line};

/// Most lines that wait for the disk, in bytes: the oldest are given up.
const WAITING_BYTES_MAX: usize = 8 << 20;

/// A ring that another thread writes.
pub struct Recorder {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<String>,
    bytes: usize,
    /// Lines that were given up.
    lost: u64,
    is_over: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder {
    /// Starts to write a ring; `complain` reports what cannot be written. Fails when there can be no
    /// thread.
    pub fn start(ring: Ring, complain: fn(&str)) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let of_writer = Arc::clone(&shared);
        let thread = thread::Builder::new().name("recorder".to_owned());
        let writer = thread.spawn(move || write(&of_writer, ring, complain))?;
        Ok(Self { shared, writer: Some(writer) })
    }

    /// Has a snapshot written, without waiting for it.
    pub fn record(&self, snapshot: &Snapshot) {
        let Ok(line) = recording_line(snapshot) else { return };
        let mut queue = self.shared.lock();
        queue.bytes += line.len();
        queue.lines.push_back(line);
        while queue.bytes > WAITING_BYTES_MAX && queue.lines.len() > 1 {
            queue.bytes -= queue.lines.pop_front().map_or(0, |line| line.len());
            queue.lost += 1;
        }
        drop(queue);
        self.shared.changed.notify_one();
    }
}

impl Drop for Recorder {
    /// Waits until all lines are written.
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        drop(self.writer.take().map(JoinHandle::join));
    }
}

fn write(shared: &Shared, mut ring: Ring, complain: fn(&str)) {
    let dir = ring.dir().to_owned();
    let (mut failing, mut lost) = (false, 0);
    loop {
        let mut queue = shared.lock();
        while queue.lines.is_empty() && !queue.is_over {
            queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let Some(line) = queue.lines.pop_front() else { return };
        queue.bytes -= line.len();
        let lost_now = queue.lost;
        drop(queue);
        if lost_now > lost {
            let count = lost_now - lost;
            complain(&format!(
                "thrashlab: {count} snapshots are lost: {} took nothing for too long",
                dir.display()
            ));
            lost = lost_now;
        }
        match ring.append(&line) {
            Ok(()) => failing = false,
            // Said once; the next line is tried, because space may become free.
            Err(_) if failing => {}
            Err(error) => {
                complain(&format!("thrashlab: cannot record to {}: {error}", dir.display()));
                failing = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_while_the_disk_waits_is_given_up_from_its_beginning() {
        let recorder = Recorder { shared: Arc::default(), writer: None };
        let name = "n".repeat(1 << 20);
        for at_ns in 0..20 {
            let machine = [(name.as_str().into(), [("a".into(), 1)].into())].into();
            recorder.record(&Snapshot { at_ns, machine, ..Snapshot::default() });
        }
        let queue = recorder.shared.lock();
        assert!(queue.bytes <= WAITING_BYTES_MAX);
        assert_eq!(queue.lost as usize + queue.lines.len(), 20);
        assert!(queue.lines.back().unwrap().contains("\"at_ns\":19"));
        assert_eq!(queue.bytes, queue.lines.iter().map(String::len).sum::<usize>());
    }
}
