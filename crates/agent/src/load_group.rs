//! The workers of a load: started together, watched, and killed together.

use std::path::Path;

use counters::TaskSum;
use model::{CounterSet, Values};
use sys::board::Board;
use sys::clock::monotonic_ns;
use sys::process::{Exit, fork_child, signal, signals, wait};
use workloads::{Dose, Progress, Steady, Worker};

use crate::enter::{Enter, prefer_as_oom_victim};
use crate::load_plan::LoadPlan;

/// A running load. Dropping it kills and reaps all its workers.
pub(crate) struct LoadGroup<'a> {
    load: &'a LoadPlan,
    board: Board,
    workers: Vec<(usize, u32)>,
    tasks: TaskSum,
    /// Totals and time at the beginning of the span over which the dose is reported.
    span: (Vec<u64>, u64),
}

impl<'a> LoadGroup<'a> {
    /// Prepares the load and forks its workers.
    ///
    /// # Errors
    /// When the preparation or a fork fails, with the reason; what was started is stopped.
    pub(crate) fn start(load: &'a LoadPlan, enter: &Enter<'_>) -> Result<Self, String> {
        let (setting, plan) = (&load.setting, &load.plan);
        let board = Board::new(plan.workers).map_err(|error| format!("map the board: {error}"))?;
        let span = (vec![0; load.workload.measures.len()], monotonic_ns());
        let mut group = Self { load, board, workers: Vec::new(), tasks: TaskSum::default(), span };
        (load.load.prepare)(setting).map_err(|error| error.to_string())?;
        for number in 0..plan.workers {
            let board = &group.board;
            let pid = fork_child(|| {
                prefer_as_oom_victim();
                let message = match enter.enter() {
                    Err(error) => error.to_string(),
                    Ok(()) => match (load.load.work)(&Worker { setting, plan, number, board }) {
                        Err(error) => error.to_string(),
                        Ok(never) => match never {},
                    },
                };
                board.fail(number, &message);
                1
            })
            .map_err(|error| format!("start worker {number}: {error}"))?;
            group.workers.push((number, pid));
        }
        let pids = group.workers.iter().map(|(_, pid)| *pid);
        group.tasks = TaskSum::open(Path::new("/proc"), pids);
        Ok(group)
    }

    /// Reaps workers that ended; returns why the first of them did.
    pub(crate) fn dead_worker(&mut self) -> Option<(String, Exit)> {
        for position in 0..self.workers.len() {
            let (worker, pid) = self.workers[position];
            if let Ok(Some(exit)) = wait(pid, false) {
                self.workers.remove(position);
                let text = match (exit, self.board.failure(worker)) {
                    (_, Some(message)) => message,
                    (Exit::Signal(number), None) => format!("ended by signal {number}"),
                    (Exit::Code(code), None) => format!("ended with code {code}"),
                };
                return Some((
                    format!("worker {worker} of {}: {text}", self.load.workload.name),
                    exit,
                ));
            }
        }
        None
    }

    /// Whether the load is in the state in which it is to be measured.
    pub(crate) fn warm(&self) -> bool {
        let Steady::When(is_warm) = self.load.workload.steady else { return true };
        let totals = self.totals();
        is_warm(&self.progress(&totals, &totals))
    }

    /// Begins the span over which the dose is reported.
    pub(crate) fn begin_span(&mut self) {
        self.span = (self.totals(), monotonic_ns());
    }

    /// What was intended and delivered since the span began, over how many ns, and the totals of
    /// the span by name.
    pub(crate) fn delivered(&self) -> (Dose, u64, Values) {
        let now = self.totals();
        let span: Vec<u64> = now.iter().zip(&self.span.0).map(|(now, then)| now - then).collect();
        let progress = self.progress(&span, &now);
        ((self.load.load.dose)(&progress), progress.elapsed_ns, self.named(&span))
    }

    fn progress<'p>(&'p self, totals: &'p [u64], since_start: &'p [u64]) -> Progress<'p> {
        let LoadPlan { setting, plan, .. } = self.load;
        let elapsed_ns = monotonic_ns() - self.span.1;
        Progress { setting, plan, totals, since_start, elapsed_ns }
    }

    /// The totals since the start by name, as counters.
    pub(crate) fn counters(&self) -> Values {
        self.named(&self.totals())
    }

    fn named(&self, totals: &[u64]) -> Values {
        let names = self.load.workload.measures.iter().map(|name| (*name).into());
        names.zip(totals.iter().copied()).collect()
    }

    /// What the kernel counts of the workers, summed.
    pub(crate) fn task_counters(&mut self) -> CounterSet {
        self.tasks.read()
    }

    fn totals(&self) -> Vec<u64> {
        (0..self.load.workload.measures.len()).map(|slot| self.board.total(slot)).collect()
    }
}

impl Drop for LoadGroup<'_> {
    fn drop(&mut self) {
        for (_, pid) in &self.workers {
            // A worker of ours that is gone already is what we want.
            let _ = signal(*pid, signals::KILL);
        }
        for (_, pid) in self.workers.drain(..) {
            let _ = wait(pid, true);
        }
        (self.load.load.finish)(&self.load.setting);
    }
}
