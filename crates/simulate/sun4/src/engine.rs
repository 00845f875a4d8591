//! Runs a scene: time, the CPU, and the process that has it.

mod calls;
mod clock;
mod steps;
mod touch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::hat::Hat;
use super::log::Event;
use super::outcome::{Outcome, ProcessOutcome};
use super::program::Scene;
use super::scheduler::{Scheduler, TICK_NS};
use super::setup::Setup;
use super::system::{System, Victim};

/// What the CPU did at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    User(usize),
    System(usize),
    Idle,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// It has the CPU or waits for it.
    #[default]
    Runnable,
    /// It waits for a tick, the end of a child, a call or a reply, since a tick.
    Asleep { since: u64, for_child: bool },
    /// It has ended.
    Ended,
}

#[derive(Clone, Debug, Default)]
struct Process {
    program: usize,
    parent: Option<usize>,
    is_measured: bool,
    is_awaited: bool,
    state: State,
    is_swapped: bool,
    /// Whether it had ended before the counts began.
    is_forgotten: bool,
    /// When it last woke from a sleep, or began.
    woken_ns: u64,
    /// Processes whose calls it is serving.
    callers: Vec<usize>,
    /// Whether it has yet to touch its stack after a switch.
    is_resuming: bool,
    step: usize,
    /// Repetitions left, by step.
    again: BTreeMap<usize, u64>,
    place: PathPosition,
    /// Rest of a computation, in ns.
    compute_ns: Option<u64>,
    /// Children that were not waited for yet, and those of them that have ended.
    children: u64,
    ended: u64,
    outcome: ProcessOutcome,
}

/// A position in a path that is touched several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PathPosition {
    /// Repetitions left, including the current one; 0 before the first.
    times: u64,
    visit: usize,
    /// Pages of the visit that are left.
    pages: u64,
    /// Touches of the lowest of them that are done.
    done: u64,
}

pub(crate) struct Engine<'a> {
    scene: &'a Scene,
    hat: Hat,
    scheduler: Scheduler,
    processes: Vec<Process>,
    rng: Pcg64Mcg,
    system: &'a System,
    is_visit_noted: bool,
    now_ns: u64,
    /// Ticks until now, the unhandled ones with what ran at them, and the handled ones.
    ticks: u64,
    unseen: VecDeque<Mode>,
    seen: u64,
    current: Option<usize>,
    must_switch: bool,
    /// Sleepers by the tick at which they wake.
    timers: BTreeSet<(u64, usize)>,
    services: BTreeMap<u32, calls::Service>,
    awaited: usize,
    measured: usize,
    last_ran: Option<usize>,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(setup: &'a Setup, scene: &'a Scene, seed: u64) -> Self {
        let mut engine = Self {
            scene,
            hat: Hat::new(setup, Pcg64Mcg::seed_from_u64(seed ^ 0x5eed)),
            scheduler: Scheduler::default(),
            processes: Vec::new(),
            rng: Pcg64Mcg::seed_from_u64(seed),
            system: &setup.system,
            is_visit_noted: setup.system.victim == Victim::LruVisit,
            now_ns: 0,
            ticks: 0,
            unseen: VecDeque::new(),
            seen: 0,
            current: None,
            must_switch: false,
            timers: BTreeSet::new(),
            services: BTreeMap::new(),
            awaited: 0,
            measured: 0,
            last_ran: None,
        };
        for start in &scene.starts {
            let process = engine.spawn(start.program, None);
            engine.processes[process].is_awaited = start.is_awaited;
            engine.awaited += usize::from(start.is_awaited);
            let tick = start.at_ns.div_ceil(TICK_NS);
            engine.scheduler.add(tick > 0);
            if tick > 0 {
                engine.processes[process].state = State::Asleep { since: 0, for_child: false };
                engine.timers.insert((tick, process));
            }
        }
        engine
    }

    /// Adds a process that the scheduler does not know yet.
    fn spawn(&mut self, program: usize, parent: Option<usize>) -> usize {
        let of = &self.scene.programs[program];
        self.measured += usize::from(of.is_measured);
        let (name, started_ns) = (of.name.clone(), self.now_ns);
        self.processes.push(Process {
            program,
            parent,
            is_measured: of.is_measured,
            woken_ns: started_ns,
            outcome: ProcessOutcome { name, started_ns, ..ProcessOutcome::default() },
            ..Process::default()
        });
        self.hat.add();
        self.processes.len() - 1
    }

    /// Runs until all awaited processes have ended, or nothing can happen any more.
    pub(crate) fn run(mut self) -> Outcome {
        self.go();
        self.outcome()
    }

    /// As `run`, with all that happened.
    #[cfg(test)]
    pub(crate) fn observed(mut self) -> (Outcome, Vec<(u64, Event)>) {
        self.go();
        let events = std::mem::take(&mut self.hat.log.events);
        (self.outcome(), events)
    }

    fn go(&mut self) {
        while self.awaited > 0 {
            if let Some(mode) = self.unseen.pop_front() {
                self.see_tick(mode);
            } else if let Some(process) = self.current {
                if self.must_switch {
                    self.scheduler.requeue(process);
                    self.current = None;
                    self.must_switch = false;
                } else {
                    self.run_process(process);
                }
            } else if let Some(process) = self.scheduler.next() {
                self.dispatch(process);
            } else if self.timers.is_empty() {
                break;
            } else {
                self.idle();
            }
        }
    }

    fn dispatch(&mut self, process: usize) {
        self.must_switch = false;
        self.current = Some(process);
        if self.last_ran != Some(process) {
            self.hat.outcome.context_switches += 1;
            self.hat.log.note(Event::Switch { process });
            self.last_ran = Some(process);
        }
        self.processes[process].is_resuming = true;
        let mut cost_ns = self.hat.prices.paths_ns.switch + self.hat.run(process);
        if std::mem::take(&mut self.processes[process].is_swapped) {
            self.processes[process].outcome.swap_ins += 1;
            self.hat.log.note(Event::SwapIn { process });
            cost_ns += self.hat.prices.paths_ns.swap_in;
        }
        self.spend(process, cost_ns, 0);
    }

    /// Lets time pass to the next tick.
    fn idle(&mut self) {
        let next_ns = self.next_tick_ns();
        if self.measured > 0 {
            self.hat.outcome.idle_ns += next_ns - self.now_ns;
        }
        self.now_ns = next_ns;
        self.hat.log.now_ns = next_ns;
        self.ticks += 1;
        self.unseen.push_back(Mode::Idle);
    }

    fn outcome(self) -> Outcome {
        let mut outcome = self.hat.outcome;
        let mut bounds: Option<(u64, u64)> = None;
        for mut process in self.processes.into_iter().filter(|process| !process.is_forgotten) {
            if process.state != State::Ended {
                process.outcome.ended_ns = self.now_ns;
            }
            let of = &process.outcome;
            outcome.touches += of.touches;
            outcome.swap_ins += of.swap_ins;
            if process.is_measured {
                outcome.user_ns += of.user_ns;
                outcome.system_ns += of.system_ns;
                let (from, to) = bounds.unwrap_or((of.started_ns, of.ended_ns));
                bounds = Some((from.min(of.started_ns), to.max(of.ended_ns)));
            }
            outcome.processes.push(process.outcome);
        }
        outcome.elapsed_ns = bounds.map_or(self.now_ns, |(from, to)| to - from);
        outcome
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
