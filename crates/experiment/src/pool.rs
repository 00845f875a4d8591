//! Cells in guests of the deterministic machine and on simulated machines, several at a time; neither
//! their number nor their order changes a byte.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use agent::Waiter;
use keep::Cells;
use model::{Line, Spec};
use subject::RunLines;
use vm::{Vm, VmError};

use crate::error::ExperimentError;
use crate::made::{Made, Output};
use crate::simulated::simulated_cell;

/// How often the user's wish to stop is looked for.
const TICK: Duration = Duration::from_millis(50);

/// What makes runs that are exactly repeatable.
#[derive(Clone, Copy)]
pub enum Engine<'a> {
    /// Guests of a machine.
    Guest(&'a Vm),
    /// The simulator of memory-management hardware, with where finished runs are kept, if they are.
    Simulator(Option<&'a Cells>),
}

/// A run of an engine.
pub(crate) struct EngineCell<'a> {
    pub(crate) engine: Engine<'a>,
    pub(crate) spec: Spec,
    pub(crate) run_id: String,
}

/// What is told of a cell.
pub(crate) enum Told {
    Started,
    Line(Box<Line>),
    /// What came of it, and whether it was taken from the cache.
    Ended(Box<Made>, bool),
}

/// Hears what is told of which cell; the last part says whether the user wants to stop. An error
/// ends the whole.
pub(crate) type Hear<'h> = dyn FnMut(usize, Told, bool) -> Result<(), ExperimentError> + 'h;

/// What the workers share.
struct Work<'a> {
    cells: &'a [EngineCell<'a>],
    folder: &'a Path,
    next: AtomicUsize,
    stop: AtomicBool,
}

/// A message of a worker: a cell that cannot be made is an error of the whole.
type Message = (usize, Result<Told, ExperimentError>);

/// Makes all cells, `jobs` at a time, and writes them into a folder; whether the user stopped it.
///
/// # Errors
/// When QEMU or the results fail, or with what `hear` answers.
pub(crate) fn run_cells(
    cells: &[EngineCell<'_>],
    jobs: usize,
    folder: &Path,
    waiter: &Waiter,
    hear: &mut Hear<'_>,
) -> Result<bool, ExperimentError> {
    let work = Work { cells, folder, next: AtomicUsize::new(0), stop: AtomicBool::new(false) };
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, cells.len().max(1)) {
            let (sender, work) = (sender.clone(), &work);
            scope.spawn(move || work.run(&sender));
        }
        drop(sender);
        listen(&work, &receiver, waiter, hear)
    })
}

/// Passes on what the workers tell until all are done.
fn listen(
    work: &Work<'_>,
    receiver: &Receiver<Message>,
    waiter: &Waiter,
    hear: &mut Hear<'_>,
) -> Result<bool, ExperimentError> {
    let mut interrupted = false;
    let mut failure = None;
    loop {
        if waiter.stop_requested() {
            interrupted = true;
            work.stop.store(true, Ordering::Relaxed);
        }
        let (index, told) = match receiver.recv_timeout(TICK) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let outcome = told.and_then(|told| hear(index, told, interrupted));
        if let Err(error) = outcome
            && failure.is_none()
        {
            // The others are stopped; the first reason is the one that counts.
            work.stop.store(true, Ordering::Relaxed);
            failure = Some(error);
        }
    }
    failure.map_or(Ok(interrupted), Err)
}

impl Work<'_> {
    /// Makes cells until there are no more.
    fn run(&self, sender: &Sender<Message>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.cells.len() || self.stop.load(Ordering::Relaxed) {
                return;
            }
            // A send fails only when nobody listens any more.
            let _ = sender.send((index, Ok(Told::Started)));
            let made = self.cell(index, sender);
            let _ = sender.send((index, made));
        }
    }

    fn cell(&self, index: usize, sender: &Sender<Message>) -> Result<Told, ExperimentError> {
        let cell = &self.cells[index];
        let mut output = Output::new(self.folder, &cell.run_id);
        let mut sink = |bytes: &[u8], line: Option<&Line>| -> io::Result<()> {
            output.line(bytes)?;
            if let Some(line) = line {
                let _ = sender.send((index, Ok(Told::Line(Box::new(line.clone())))));
            }
            Ok(())
        };
        let (death, cached) = match cell.engine {
            Engine::Guest(vm) => {
                let stop = || self.stop.load(Ordering::Relaxed);
                let ran = vm.run(&cell.spec, &cell.run_id, &stop, &mut sink)?;
                (ran.outcome.death, ran.cached)
            }
            Engine::Simulator(cells) => match simulated_cell(&cell.spec, &cell.run_id, cells) {
                Ok((bytes, cached)) => {
                    let mut lines = RunLines::default();
                    lines.push(&bytes, &mut sink).map_err(VmError::Results)?;
                    (None, cached)
                }
                Err(why) => (Some(why), false),
            },
        };
        Ok(Told::Ended(Box::new(output.made(death)?), cached))
    }
}
