//! Executing runs: on real machines one at a time; in guests and on simulated machines, where
//! number and order change no byte, several at a time.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use model::{BASELINE, EndStatus, Environment, Line, Measure, REMOTE_FACT, Run};
use remote::RunEvent;

use crate::deterministic::Deterministic;
use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::event::Event;
use crate::machines::{Machines, Order};
use crate::run_result::{Output, RunResult};
use crate::segment::Segment;

/// How often the stop request is checked.
const TICK: Duration = Duration::from_millis(50);

/// Receives the result of a run; an error ends the execution.
pub(crate) type Take<'t> = dyn FnMut(&Order, RunResult) -> Result<()> + 't;

/// Runs of one kind, measured or exactly repeatable, that are to be executed.
pub(crate) struct Execution<'a> {
    pub(crate) machines: &'a mut Machines,
    pub(crate) orders: &'a [Order],
    pub(crate) folder: &'a Path,
    /// Whether the machine settles before the first run, as before all others.
    pub(crate) settles_first: bool,
}

/// Reports the end of a run, unless refused because the user stopped it.
fn ended(
    (index, order): (usize, &Order),
    (made, cached, interrupted): (RunResult, bool, bool),
    driver: &mut Driver<'_>,
    take: &mut Take<'_>,
) -> Result<()> {
    match &made {
        RunResult::Run { path, run, .. } => {
            (driver.on_event)(&Event::Ended { index, status: run.status(), path, cached });
            take(order, made)
        }
        RunResult::Refused(_) if interrupted => Ok(()),
        RunResult::Refused(reason) => {
            let reason = reason.clone();
            take(order, made)?;
            (driver.on_event)(&Event::Skipped { index, reason: &reason });
            Ok(())
        }
    }
}

enum Report {
    Started,
    Line(Box<Line>),
    /// Its result, and whether it was taken from the cache.
    Ended(Box<RunResult>, bool),
}

/// A worker's message: a run that cannot be executed is an error of the whole.
type Message = (usize, Result<Report>);

struct Pool<'a> {
    orders: &'a [Order],
    /// What makes each of them.
    makers: Vec<Deterministic<'a>>,
    folder: &'a Path,
    next: AtomicUsize,
    stop: AtomicBool,
}

impl Execution<'_> {
    /// Executes the runs; returns whether the user stopped it.
    pub(crate) fn run(self, driver: &mut Driver<'_>, take: &mut Take<'_>) -> Result<bool> {
        let orders = self.orders.iter();
        let Some(first) = self.orders.first() else { return Ok(driver.waiter.stop_requested()) };
        let segments: Vec<Segment> =
            orders.map(|order| Segment::new(order.label.clone(), &order.spec)).collect();
        let is_virtual = !first.at.is_measured();
        (driver.on_event)(&Event::Planned { segments: &segments, is_virtual });
        match is_virtual {
            true => self.several_at_a_time(driver, take),
            false => self.one_at_a_time(driver, take),
        }
    }

    fn one_at_a_time(self, driver: &mut Driver<'_>, take: &mut Take<'_>) -> Result<bool> {
        let waiter = driver.waiter;
        for (index, order) in self.orders.iter().enumerate() {
            if (index > 0 || self.settles_first) && settles(order) {
                self.machines.settle(order.at, waiter);
            }
            if waiter.stop_requested() {
                break;
            }
            (driver.on_event)(&Event::Started { index });
            let mut output = Output::new(self.folder, &order.run_id);
            let mut hear = |heard: RunEvent<'_>| -> io::Result<()> {
                match heard {
                    RunEvent::Note(text) => driver.note(text),
                    RunEvent::Line(bytes, line) => {
                        output.line(bytes)?;
                        line.iter().for_each(|line| {
                            (driver.on_event)(&Event::Line { index, line });
                        });
                    }
                }
                Ok(())
            };
            let death = self.machines.measure(order, self.folder, waiter, &mut hear)?;
            let made = output.into_result(death, None)?;
            ended((index, order), (made, false, waiter.stop_requested()), driver, take)?;
        }
        Ok(waiter.stop_requested())
    }

    fn several_at_a_time(self, driver: &mut Driver<'_>, take: &mut Take<'_>) -> Result<bool> {
        let Self { machines, orders, folder, .. } = self;
        let jobs = driver.jobs(machines.largest_guest_bytes());
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let makers = orders.iter().filter_map(|order| machines.deterministic(order.at)).collect();
        let pool = Pool { orders, makers, folder, next, stop };
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..jobs.clamp(1, orders.len()) {
                let (sender, pool) = (sender.clone(), &pool);
                scope.spawn(move || pool.run(&sender));
            }
            drop(sender);
            let (mut interrupted, mut failure) = (false, None);
            loop {
                if driver.waiter.stop_requested() {
                    interrupted = true;
                    pool.stop.store(true, Ordering::Relaxed);
                }
                let (index, report) = match receiver.recv_timeout(TICK) {
                    Ok(message) => message,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                let outcome = report.and_then(|report| {
                    match report {
                        Report::Started => (driver.on_event)(&Event::Started { index }),
                        Report::Line(line) => {
                            (driver.on_event)(&Event::Line { index, line: &line });
                        }
                        Report::Ended(made, cached) => {
                            let end = (*made, cached, interrupted);
                            return ended((index, &orders[index]), end, driver, take);
                        }
                    }
                    Ok(())
                });
                if let Err(error) = outcome {
                    // The others are stopped; the first reason counts.
                    pool.stop.store(true, Ordering::Relaxed);
                    failure.get_or_insert(error);
                }
            }
            failure.map_or(Ok(interrupted), Err)
        })
    }
}

impl Pool<'_> {
    fn run(&self, sender: &Sender<Message>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.orders.len() || self.stop.load(Ordering::Relaxed) {
                return;
            }
            // A send fails only without a receiver.
            let _ = sender.send((index, Ok(Report::Started)));
            let made = self.order(index, sender);
            let _ = sender.send((index, made));
        }
    }

    fn order(&self, index: usize, sender: &Sender<Message>) -> Result<Report> {
        let Order { run_id, spec, .. } = &self.orders[index];
        let mut output = Output::new(self.folder, run_id);
        let mut sink = |bytes: &[u8], line: Option<&Line>| -> io::Result<()> {
            output.line(bytes)?;
            if let Some(line) = line {
                let _ = sender.send((index, Ok(Report::Line(Box::new(line.clone())))));
            }
            Ok(())
        };
        let stop = || self.stop.load(Ordering::Relaxed);
        let (death, finished) = match self.makers[index].run(spec, run_id, &stop, &mut sink) {
            Ok(made) => (made.outcome.death, made.finished),
            Err(ExperimentError::NotMeasured(why)) => (Some(why), None),
            Err(error) => return Err(error),
        };
        let cached = finished.is_some();
        Ok(Report::Ended(Box::new(output.into_result(death, finished)?), cached))
    }
}

/// Whether a run waits until the data of the last load is on disk: not a command without a load, as
/// nothing but it was running.
fn settles(order: &Order) -> bool {
    let is_command = matches!(order.spec.measure, Measure::Command(_));
    !(is_command && order.spec.load.name == BASELINE)
}

/// Whether a run was executed on this machine (`None`) or on the one at this address.
pub(crate) fn is_of_machine(facts: &Environment, address: Option<&str>) -> bool {
    facts.get(REMOTE_FACT).map(String::as_str) == address
}

/// Whether a run ended by itself, so that repeating it would not help.
pub(crate) fn has_ended(run: &Run) -> bool {
    run.checksum_ok != Some(false)
        && !matches!(run.status(), EndStatus::Interrupted | EndStatus::Killed)
}
