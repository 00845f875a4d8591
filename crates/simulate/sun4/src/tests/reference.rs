//! The reference model: the same machine and system as the engine's, written to be obviously right.
//!
//! It goes touch by touch and tick by tick, keeps everything in plain lists, and searches them. It
//! shares with the engine the prices, the programs and the description of what is run, and no code
//! of the hat, the contexts, the victims, the scheduler or the clock. Tests compare each event.

mod hat;
mod pmegs;
mod queue;
mod steps;

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::hat::Prices;
use crate::log::Event;
use crate::outcome::{Outcome, ProcessOutcome};
use crate::program::Scene;
use crate::setup::Setup;
use crate::system::{Accounting, Swapping};
use hat::Hat;
use queue::Queue;

const TICK_NS: u64 = 10_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Runs,
    Sleeps { since_tick: u64, awaits_child: bool },
    Ended,
}

struct Process {
    program: usize,
    parent: Option<usize>,
    is_measured: bool,
    is_awaited: bool,
    is_forgotten: bool,
    is_swapped: bool,
    doing: Doing,
    step: usize,
    again: BTreeMap<usize, u64>,
    /// Touches of the current step that are done, and whether it has begun.
    touched: u64,
    is_touching: bool,
    is_resuming: bool,
    compute_ns: Option<u64>,
    children: u64,
    ended_children: u64,
    woken_ns: u64,
    wakes_at_tick: Option<u64>,
    callers: Vec<usize>,
    outcome: ProcessOutcome,
}

/// A tick that the system has yet to see.
#[derive(Clone, Copy)]
enum Tick {
    User(usize),
    System(usize),
    Idle,
}

pub(super) struct Model<'a> {
    scene: &'a Scene,
    setup: &'a Setup,
    prices: Prices,
    hat: Hat,
    queue: Queue,
    rng: Pcg64Mcg,
    processes: Vec<Process>,
    now_ns: u64,
    ticks: u64,
    seen_ticks: u64,
    unseen: Vec<Tick>,
    current: Option<usize>,
    last: Option<usize>,
    must_switch: bool,
    idle_ns: u64,
    switches: u64,
    /// Callers and servers that wait, by service.
    callers: BTreeMap<u32, Vec<usize>>,
    servers: BTreeMap<u32, Vec<usize>>,
    events: Vec<(u64, Event)>,
}

/// Runs a scene by the reference model.
pub(super) fn run(setup: &Setup, scene: &Scene, seed: u64) -> (Outcome, Vec<(u64, Event)>) {
    let mut model = Model {
        scene,
        setup,
        prices: Prices::new(setup),
        hat: Hat::new(setup, Pcg64Mcg::seed_from_u64(seed ^ 0x5eed)),
        queue: Queue::default(),
        rng: Pcg64Mcg::seed_from_u64(seed),
        processes: Vec::new(),
        now_ns: 0,
        ticks: 0,
        seen_ticks: 0,
        unseen: Vec::new(),
        current: None,
        last: None,
        must_switch: false,
        idle_ns: 0,
        switches: 0,
        callers: BTreeMap::new(),
        servers: BTreeMap::new(),
        events: Vec::new(),
    };
    for start in &scene.starts {
        let process = model.make(start.program, None);
        model.processes[process].is_awaited = start.is_awaited;
        let tick = start.at_ns.div_ceil(TICK_NS);
        model.queue.add();
        if tick == 0 {
            model.queue.enter(process);
        } else {
            model.queue.sleep(process);
            let at = &mut model.processes[process];
            at.doing = Doing::Sleeps { since_tick: 0, awaits_child: false };
            at.wakes_at_tick = Some(tick);
        }
    }
    while model.step() {}
    model.finish()
}

impl Model<'_> {
    fn note(&mut self, event: Event) {
        self.events.push((self.now_ns, event));
    }

    fn make(&mut self, program: usize, parent: Option<usize>) -> usize {
        let of = &self.scene.programs[program];
        let outcome = ProcessOutcome {
            name: of.name.clone(),
            started_ns: self.now_ns,
            ..ProcessOutcome::default()
        };
        self.processes.push(Process {
            program,
            parent,
            is_measured: of.is_measured,
            is_awaited: false,
            is_forgotten: false,
            is_swapped: false,
            doing: Doing::Runs,
            step: 0,
            again: BTreeMap::new(),
            touched: 0,
            is_touching: false,
            is_resuming: false,
            compute_ns: None,
            children: 0,
            ended_children: 0,
            woken_ns: self.now_ns,
            wakes_at_tick: None,
            callers: Vec::new(),
            outcome,
        });
        self.hat.add_space();
        self.processes.len() - 1
    }

    /// Executes one step; returns whether there is more to do.
    fn step(&mut self) -> bool {
        let is_over = |process: &Process| !process.is_awaited || process.doing == Doing::Ended;
        if self.processes.iter().all(is_over) {
            return false;
        }
        if !self.unseen.is_empty() {
            let tick = self.unseen.remove(0);
            self.see(tick);
        } else if let Some(process) = self.current {
            if self.must_switch {
                self.queue.enter(process);
                self.current = None;
                self.must_switch = false;
            } else {
                self.advance(process);
            }
        } else if let Some(process) = self.queue.take() {
            self.give_cpu(process);
        } else if self.processes.iter().any(|process| process.wakes_at_tick.is_some()) {
            let next_ns = (self.ticks + 1) * TICK_NS;
            let lives = |process: &Process| process.is_measured && process.doing != Doing::Ended;
            if self.processes.iter().any(lives) {
                self.idle_ns += next_ns - self.now_ns;
            }
            self.now_ns = next_ns;
            self.ticks += 1;
            self.unseen.push(Tick::Idle);
        } else {
            return false;
        }
        true
    }

    fn give_cpu(&mut self, process: usize) {
        self.must_switch = false;
        self.current = Some(process);
        if self.last != Some(process) {
            self.last = Some(process);
            self.switches += 1;
            self.note(Event::Switch { process });
        }
        self.processes[process].is_resuming = true;
        let mut cost_ns = self.prices.paths_ns.switch + self.hat.run(process);
        self.take_events();
        if self.processes[process].is_swapped {
            self.processes[process].is_swapped = false;
            self.processes[process].outcome.swap_ins += 1;
            self.note(Event::SwapIn { process });
            cost_ns += self.prices.paths_ns.swap_in;
        }
        self.spend(process, cost_ns, 0);
    }

    /// What the hat did happened now.
    fn take_events(&mut self) {
        let events = std::mem::take(&mut self.hat.events);
        self.events.extend(events.into_iter().map(|event| (self.now_ns, event)));
    }

    fn spend(&mut self, process: usize, system_ns: u64, user_ns: u64) {
        let from_ns = self.now_ns;
        self.now_ns += system_ns + user_ns;
        while (self.ticks + 1) * TICK_NS <= self.now_ns {
            self.ticks += 1;
            let is_system = user_ns == 0 || self.ticks * TICK_NS <= from_ns + system_ns;
            self.unseen.push(if is_system { Tick::System(process) } else { Tick::User(process) });
        }
        if self.setup.system.accounting == Accounting::Exact {
            self.processes[process].outcome.system_ns += system_ns;
            self.processes[process].outcome.user_ns += user_ns;
        }
    }

    fn see(&mut self, tick: Tick) {
        self.seen_ticks += 1;
        if let Tick::User(process) | Tick::System(process) = tick {
            if self.processes[process].doing != Doing::Ended {
                self.queue.charge(process);
            }
            if self.setup.system.accounting == Accounting::Tick {
                let outcome = &mut self.processes[process].outcome;
                if matches!(tick, Tick::User(_)) {
                    outcome.user_ns += TICK_NS;
                } else {
                    outcome.system_ns += TICK_NS;
                }
            }
        }
        // Processes wake in the order of their times, then of their numbers.
        loop {
            let due = self.processes.iter().enumerate();
            let due = due.filter_map(|(index, process)| Some((process.wakes_at_tick?, index)));
            let Some((tick, process)) = due.min().filter(|(tick, _)| *tick <= self.seen_ticks)
            else {
                break;
            };
            self.processes[process].wakes_at_tick = None;
            self.processes[process].woken_ns = tick * TICK_NS;
            self.wake(process);
        }
        if self.seen_ticks.is_multiple_of(10) {
            self.must_switch = true;
        }
        if self.seen_ticks.is_multiple_of(500) {
            self.queue.five_seconds(usize::from(self.current.is_some()));
        }
        if self.seen_ticks.is_multiple_of(100) {
            self.queue.second();
            self.swap();
        }
    }

    fn swap(&mut self) {
        for process in 0..self.processes.len() {
            let at = &self.processes[process];
            let Doing::Sleeps { since_tick, .. } = at.doing else { continue };
            let is_long = self.seen_ticks.saturating_sub(since_tick) >= 2000;
            let is_swapped = match self.setup.system.swapping {
                Swapping::Off => false,
                Swapping::Soft => is_long,
                Swapping::Eager => is_long || self.hat.is_unmapped(process),
            };
            if is_swapped && !at.is_swapped {
                self.processes[process].is_swapped = true;
                self.hat.swap_out(process);
                self.note(Event::SwapOut { process });
            }
        }
    }

    fn wake(&mut self, process: usize) {
        self.processes[process].doing = Doing::Runs;
        self.queue.wake(process);
        self.must_switch = true;
        self.note(Event::Wake { process });
    }

    fn block(&mut self, process: usize, awaits_child: bool) {
        self.processes[process].doing = Doing::Sleeps { since_tick: self.ticks, awaits_child };
        self.queue.sleep(process);
        self.current = None;
    }

    fn finish(self) -> (Outcome, Vec<(u64, Event)>) {
        let mut outcome = Outcome {
            idle_ns: self.idle_ns,
            translation_faults: self.hat.faults,
            context_switches: self.switches,
            steals: self.hat.steals,
            loads: self.hat.loads,
            software_steals: self.hat.software_steals,
            hat: self.hat.counts,
            ..Outcome::default()
        };
        let (mut first_ns, mut last_ns) = (u64::MAX, 0);
        for mut process in self.processes {
            if process.is_forgotten {
                continue;
            }
            if process.doing != Doing::Ended {
                process.outcome.ended_ns = self.now_ns;
            }
            outcome.touches += process.outcome.touches;
            outcome.swap_ins += process.outcome.swap_ins;
            if process.is_measured {
                outcome.user_ns += process.outcome.user_ns;
                outcome.system_ns += process.outcome.system_ns;
                first_ns = first_ns.min(process.outcome.started_ns);
                last_ns = last_ns.max(process.outcome.ended_ns);
            }
            outcome.processes.push(process.outcome);
        }
        outcome.elapsed_ns = if first_ns == u64::MAX { self.now_ns } else { last_ns - first_ns };
        (outcome, self.events)
    }
}
