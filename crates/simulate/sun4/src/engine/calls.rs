//! Calls between processes, and their counts.
//!
//! A call is a message and its answer: a request to a window server, a line for a shell, a query to
//! a database. Each of the three system calls costs as much as looking for a child.

use std::collections::VecDeque;

use super::{Engine, State};
use crate::outcome::{Outcome, ProcessOutcome};

/// The processes that wait at a service, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Service {
    callers: VecDeque<usize>,
    servers: VecDeque<usize>,
}

impl Engine<'_> {
    pub(super) fn call(&mut self, process: usize, service: u32) {
        self.next_step(process);
        self.spend(process, self.hat.prices.paths_ns.wait, 0);
        self.block(process, false);
        let at = self.services.entry(service).or_default();
        at.callers.push_back(process);
        if let Some(server) = at.servers.pop_front() {
            self.wake(server);
        }
    }

    pub(super) fn serve(&mut self, process: usize, service: u32) {
        let at = self.services.entry(service).or_default();
        let Some(caller) = at.callers.pop_front() else {
            at.servers.push_back(process);
            self.block(process, false);
            return;
        };
        self.processes[process].callers.push(caller);
        self.next_step(process);
        self.spend(process, self.hat.prices.paths_ns.wait, 0);
    }

    pub(super) fn reply(&mut self, process: usize) {
        self.next_step(process);
        self.spend(process, self.hat.prices.paths_ns.wait, 0);
        self.release_callers(process);
    }

    /// Wakes the callers that a process has served.
    pub(super) fn release_callers(&mut self, process: usize) {
        for caller in std::mem::take(&mut self.processes[process].callers) {
            self.wake(caller);
        }
    }

    pub(super) fn answer(&mut self, process: usize) {
        self.next_step(process);
        let at = &mut self.processes[process];
        at.outcome.responses_ns.push(self.now_ns - at.woken_ns);
    }

    /// Restarts all counts.
    pub(super) fn begin(&mut self, process: usize) {
        self.next_step(process);
        self.hat.outcome = Outcome::default();
        for process in &mut self.processes {
            process.is_forgotten = process.state == State::Ended;
            // Processes that have ended are not part of the workload either.
            process.is_measured &= !process.is_forgotten;
            process.outcome = ProcessOutcome {
                name: std::mem::take(&mut process.outcome.name),
                started_ns: self.now_ns,
                ..ProcessOutcome::default()
            };
        }
    }
}
