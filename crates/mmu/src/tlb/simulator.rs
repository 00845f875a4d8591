//! The simulator: references, switches and events in, counts out.

use std::collections::BTreeMap;

use trace::{Block, Event, PageRun};

use super::core::Core;
use super::machine::{Machine, NESTED};
use super::options::Options;
use super::outcome::{CacheOutcome, Outcome, TlbOutcome};
use super::page_size::PageSize;
use super::space::{Space, page_range};
use super::world::World;

/// A machine that runs a program.
#[derive(Clone, Debug)]
pub struct Simulator {
    cores: Vec<Core>,
    /// The core of the references.
    active: usize,
    world: World,
    process: u32,
    /// The core of each thread.
    seats: BTreeMap<(u32, u32), usize>,
    flush_ceiling: u64,
    switches: u64,
    lookup_cycles: Vec<u64>,
}

impl Simulator {
    /// Thread 0 of process 0 runs on the first core. Fails if the options do not fit the machine.
    pub fn new(machine: &Machine, options: &Options) -> Result<Self, String> {
        if options.cores == 0 {
            return Err("cores=0: there must be one".to_owned());
        }
        let mut seed = options.seed;
        let mut next_seed = || {
            seed = seed.wrapping_add(1);
            seed
        };
        let cores = (0..options.cores)
            .map(|_| Core::new(machine, options, &mut next_seed))
            .collect::<Result<Vec<_>, _>>()?;
        let mut simulator = Self {
            cores,
            active: 0,
            world: World::new(options, nothing(machine, options)),
            process: 0,
            seats: BTreeMap::new(),
            flush_ceiling: options.flush_ceiling,
            switches: 0,
            lookup_cycles: machine.tlbs.iter().map(|tlb| tlb.lookup_cycles).collect(),
        };
        simulator.switch(0, 0);
        Ok(simulator)
    }

    /// Runs a block of a trace.
    pub fn block(&mut self, block: &Block) {
        self.switch(block.process, block.thread);
        let mut done = 0;
        for (before, event) in &block.events {
            let next = (*before as usize).clamp(done, block.runs.len());
            self.runs(&block.runs[done..next]);
            done = next;
            self.event(event);
        }
        self.runs(&block.runs[done..]);
    }

    /// Refers to pages by runs.
    pub fn runs(&mut self, runs: &[PageRun]) {
        self.cores[self.active].refer_to_runs(&mut self.world, runs);
    }

    /// Switches to a thread, which keeps its first core.
    pub fn switch(&mut self, process: u32, thread: u32) {
        let next = self.seats.len() % self.cores.len();
        self.active = *self.seats.entry((process, thread)).or_insert(next);
        self.process = process;
        self.switches += 1;
        self.world.switch(process);
        self.cores[self.active].switch(&mut self.world, process, self.switches);
    }

    /// Handles an event of the running process.
    pub fn event(&mut self, event: &Event) {
        let process = self.process;
        let (world, cores) = (&mut self.world, &mut self.cores);
        match event {
            Event::Program { .. } | Event::Exit => {
                let gone = *event == Event::Exit;
                *world.space(process) = Space::new(process);
                let outcome = &mut world.outcome;
                cores.iter_mut().for_each(|core| core.flush_process(outcome, process, gone));
            }
            Event::Fork { child } => {
                let inherited = world.space(process).inherited(*child);
                *world.space(*child) = inherited;
                // Its pages become read-only, to be copied on write.
                let outcome = &mut world.outcome;
                cores.iter_mut().for_each(|core| core.flush_process(outcome, process, false));
            }
            Event::Map { address, length_bytes, file, shared } => {
                let (first, end) = page_range(*address, *length_bytes);
                let shareable = (*file || *shared).then(|| world.new_mapping());
                if world.space(process).map(first, end, shareable) {
                    self.unmapped(first, end);
                }
            }
            Event::Unmap { address, length_bytes } => {
                let (first, end) = page_range(*address, *length_bytes);
                world.space(process).unmap(first, end);
                self.unmapped(first, end);
            }
            Event::Break { address } => {
                if let Some((first, end)) = world.space(process).set_break(*address) {
                    self.unmapped(first, end);
                }
            }
            Event::ThreadStart | Event::ThreadEnd | Event::Missed { .. } => {}
        }
        // A page may be of another size now.
        self.cores.iter_mut().for_each(Core::forget_last);
    }

    /// Number of references so far; cheap, for progress.
    pub fn references(&self) -> u64 {
        self.cores.iter().map(Core::references).sum()
    }

    /// The counts so far.
    pub fn outcome(&self) -> Outcome {
        let mut outcome = self.world.outcome.clone();
        self.cores.iter().for_each(|core| core.add_references(&mut outcome));
        for (tlb, cycles) in outcome.tlbs.iter_mut().zip(&self.lookup_cycles) {
            tlb.hits = tlb.accesses - tlb.misses;
            outcome.lookup_cycles += tlb.accesses * cycles;
        }
        outcome
    }

    fn unmapped(&mut self, first: u64, end: u64) {
        let outcome = &mut self.world.outcome;
        for core in &mut self.cores {
            if end.saturating_sub(first) > self.flush_ceiling {
                core.flush_process(outcome, self.process, false);
            } else {
                core.flush_pages(outcome, self.process, first, end);
            }
        }
    }

    /// What each TLB of a core holds.
    #[cfg(test)]
    pub(crate) fn contents(&self, core: usize) -> Vec<Vec<u64>> {
        self.cores[core].contents()
    }
}

/// The outcome of nothing.
fn nothing(machine: &Machine, options: &Options) -> Outcome {
    let tlbs = machine.tlbs.iter().map(|tlb| TlbOutcome {
        name: tlb.name.clone(),
        level: tlb.level,
        entries: tlb.entries,
        ways: tlb.shape().ways,
        pages: tlb.pages.iter().copied().map(PageSize::name).collect(),
        serves: tlb.serves.name(),
        ..TlbOutcome::default()
    });
    let cache = |name: &str| CacheOutcome { name: name.to_owned(), ..CacheOutcome::default() };
    Outcome {
        tlbs: tlbs.collect(),
        walk_caches: machine.walk_caches.iter().map(|described| cache(&described.name)).collect(),
        nested: machine.nested.as_ref().filter(|_| options.virtualized).map(|_| cache(NESTED)),
        ..Outcome::default()
    }
}
