//! The workers of a load: started together, watched, and killed together.

use std::path::Path;

use counters::TaskSum;
use loads::{Desc, Dose, Plan, Progress, Setting};
use model::{CounterSet, Values};
use sys::board::Board;
use sys::clock::monotonic_ns;
use sys::process::{Exit, fork_child, signal, signals, wait};

use crate::enter::{Enter, prefer_as_oom_victim};

/// A running load. Dropping it kills and reaps all its workers.
pub(crate) struct LoadGroup<'a> {
    desc: &'static Desc,
    setting: &'a Setting,
    plan: &'a Plan,
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
    pub(crate) fn start(
        desc: &'static Desc,
        setting: &'a Setting,
        plan: &'a Plan,
        enter: &Enter<'_>,
    ) -> Result<Self, String> {
        let board = Board::new(plan.workers).map_err(|error| format!("map the board: {error}"))?;
        let span = (vec![0; desc.totals.len()], monotonic_ns());
        let (workers, tasks) = (Vec::new(), TaskSum::default());
        let mut group = Self { desc, setting, plan, board, workers, tasks, span };
        (desc.prepare)(setting, plan).map_err(|error| error.to_string())?;
        for worker in 0..plan.workers {
            let board = &group.board;
            let pid = fork_child(|| {
                prefer_as_oom_victim();
                let work = loads::Work { setting, plan, worker, board };
                let message = match enter.enter() {
                    Err(error) => error.to_string(),
                    Ok(()) => match (desc.work)(&work) {
                        Err(error) => error.to_string(),
                        Ok(never) => match never {},
                    },
                };
                board.fail(worker, &message);
                1
            })
            .map_err(|error| format!("start worker {worker}: {error}"))?;
            group.workers.push((worker, pid));
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
                return Some((format!("worker {worker} of {}: {text}", self.desc.name), exit));
            }
        }
        None
    }

    /// Whether the load is in the state in which it is to be measured.
    pub(crate) fn warm(&self) -> bool {
        let totals = self.totals();
        (self.desc.warm)(&Progress {
            setting: self.setting,
            plan: self.plan,
            totals: &totals,
            since_start: &totals,
            elapsed_ns: monotonic_ns() - self.span.1,
        })
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
        let elapsed_ns = monotonic_ns() - self.span.1;
        let dose = (self.desc.dose)(&Progress {
            setting: self.setting,
            plan: self.plan,
            totals: &span,
            since_start: &now,
            elapsed_ns,
        });
        let named = self.desc.totals.iter().map(|name| (*name).into()).zip(span).collect();
        (dose, elapsed_ns, named)
    }

    /// The totals since the start by name, as counters.
    pub(crate) fn counters(&self) -> Values {
        self.desc.totals_of(&self.board)
    }

    /// What the kernel counts of the workers, summed.
    pub(crate) fn task_counters(&mut self) -> CounterSet {
        self.tasks.read()
    }

    fn totals(&self) -> Vec<u64> {
        (0..self.desc.totals.len()).map(|slot| self.board.total(slot)).collect()
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
        (self.desc.finish)(self.setting);
    }
}
