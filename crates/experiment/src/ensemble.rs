//! The matrix on a deterministic machine: every cell is a guest of its own, several run at a time,
//! and neither their number nor their order changes a byte.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use agent::Waiter;
use model::{BASELINE, EndStatus, Line};
use vm::Vm;

use crate::event::Event;
use crate::made::{Made, Output};
use crate::matrix::{ExperimentError, MatrixPlan, MatrixResult, Segment, why_not};

/// How often the user's wish to stop is looked for.
const TICK: Duration = Duration::from_millis(50);

/// What a worker tells.
enum Message {
    Started,
    Line(Box<Line>),
    Ended(Result<(Made, bool), ExperimentError>),
}

/// What the workers share.
struct Work<'a> {
    vm: &'a Vm,
    plan: &'a MatrixPlan,
    cells: &'a [Segment],
    folder: &'a Path,
    next: AtomicUsize,
    stop: AtomicBool,
}

/// Makes all cells of a matrix, `jobs` at a time, and writes them into a folder.
///
/// # Errors
/// When QEMU or the results fail. A load that cannot run in the guest, dies, or times out is part
/// of the result.
pub fn run_ensemble(
    vm: &Vm,
    plan: &MatrixPlan,
    jobs: usize,
    folder: &Path,
    waiter: &Waiter,
    on_event: &mut dyn FnMut(&Event<'_>),
) -> Result<MatrixResult, ExperimentError> {
    let cells = plan.cells();
    let longest_ns = cells.iter().map(|cell| cell.longest_ns).sum();
    on_event(&Event::Planned { segments: &cells, longest_ns, is_virtual: true });
    let work = Work {
        vm,
        plan,
        cells: &cells,
        folder,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
    };
    let (sender, receiver) = mpsc::channel();
    let mut made = thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, cells.len()) {
            let (sender, work) = (sender.clone(), &work);
            scope.spawn(move || work.run(&sender));
        }
        drop(sender);
        listen(&work, &receiver, waiter, on_event)
    })?;
    // In the order of the plan, whoever was first.
    made.runs.sort_by(|(first, _), (second, _)| first.cmp(second));
    Ok(made)
}

/// Turns messages into events and results until all workers are done.
fn listen(
    work: &Work<'_>,
    receiver: &Receiver<(usize, Message)>,
    waiter: &Waiter,
    on_event: &mut dyn FnMut(&Event<'_>),
) -> Result<MatrixResult, ExperimentError> {
    let mut result = MatrixResult::default();
    let mut failure = None;
    loop {
        if waiter.stop_requested() {
            result.interrupted = true;
            work.stop.store(true, Ordering::Relaxed);
        }
        let (index, message) = match receiver.recv_timeout(TICK) {
            Ok(received) => received,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let segment = &work.cells[index];
        match message {
            Message::Started => on_event(&Event::Started { index, segment }),
            Message::Line(line) => on_event(&Event::Line { index, line: &line }),
            Message::Ended(ended) => {
                let outcome = ended.and_then(|(made, cached)| {
                    take(&mut result, index, segment, made, cached, on_event)
                });
                if let Err(error) = outcome
                    && failure.is_none()
                {
                    // The others are stopped; the first reason is the one that counts.
                    work.stop.store(true, Ordering::Relaxed);
                    failure = Some(error);
                }
            }
        }
    }
    failure.map_or(Ok(result), Err)
}

/// Files what came of a cell.
fn take(
    result: &mut MatrixResult,
    index: usize,
    segment: &Segment,
    made: Made,
    cached: bool,
    on_event: &mut dyn FnMut(&Event<'_>),
) -> Result<(), ExperimentError> {
    match made {
        Made::Run { path, run, death } => {
            on_event(&Event::Ended { index, status: run.status(), path: &path, cached });
            let failed = !run.is_measured() && run.status() != EndStatus::Interrupted;
            if segment.load == BASELINE && failed {
                return Err(ExperimentError::Baseline(why_not(&run, death)));
            }
            result.runs.push((path, *run));
        }
        Made::Refused(_) if result.interrupted => {}
        Made::Refused(reason) if segment.load == BASELINE => {
            return Err(ExperimentError::Baseline(reason));
        }
        Made::Refused(reason) => {
            on_event(&Event::Skipped { index, load: &segment.load, reason: &reason });
            result.skipped.insert(segment.load.clone(), reason);
        }
    }
    Ok(())
}

impl Work<'_> {
    /// Makes cells until there are no more.
    fn run(&self, sender: &Sender<(usize, Message)>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.cells.len() || self.stop.load(Ordering::Relaxed) {
                return;
            }
            // A send fails only when nobody listens any more.
            let _ = sender.send((index, Message::Started));
            let made = self.cell(index, sender);
            let _ = sender.send((index, Message::Ended(made)));
        }
    }

    fn cell(
        &self,
        index: usize,
        sender: &Sender<(usize, Message)>,
    ) -> Result<(Made, bool), ExperimentError> {
        let segment = &self.cells[index];
        let run_id = run_id(segment);
        // Neither block nor order mean anything where nothing drifts; with them, a cell of another
        // plan would be another cell.
        let spec = self.plan.spec(segment, 0);
        let mut output = Output::new(self.folder, &run_id);
        let mut sink = |bytes: &[u8], line: Option<&Line>| -> io::Result<()> {
            output.line(bytes)?;
            if let Some(line) = line {
                let _ = sender.send((index, Message::Line(Box::new(line.clone()))));
            }
            Ok(())
        };
        let stop = || self.stop.load(Ordering::Relaxed);
        let ran = self.vm.run(&spec, &run_id, &stop, &mut sink)?;
        Ok((output.made(ran.outcome.death)?, ran.cached))
    }
}

/// The name of a cell's run: the same in every plan.
fn run_id(segment: &Segment) -> String {
    // By the load's place among all loads, so that files are listed in their order.
    let place = loads::ALL.iter().position(|load| load.name == segment.load).unwrap_or(0);
    format!("{:03}-{}-seed{}", place + 1, segment.load, segment.seed)
}
