//! The simulator: references and switches in, counts out.

use std::collections::BTreeMap;

use trace::PageRun;

use super::core::Core;
use super::machine::Machine;
use super::options::Options;
use super::outcome::Outcome;
use super::translations::Translations;
use super::world::World;

/// A machine that runs a program.
#[derive(Clone, Debug)]
pub struct Simulator {
    pub(super) cores: Vec<Core>,
    /// The core of the references.
    pub(super) active: usize,
    pub(super) world: World,
    pub(super) process: u32,
    pub(super) thread: u32,
    /// Known translations of a guest, one entry per core; empty without a guest.
    pub(super) translations: Vec<Translations>,
    /// The core of each thread.
    seats: BTreeMap<(u32, u32), usize>,
    pub(super) flush_ceiling: u64,
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
            world: World::new(options, Outcome::of(machine, options)),
            process: 0,
            thread: 0,
            translations: Vec::new(),
            seats: BTreeMap::new(),
            flush_ceiling: options.flush_ceiling,
            switches: 0,
            lookup_cycles: machine.tlbs.iter().map(|tlb| tlb.lookup_cycles).collect(),
        };
        simulator.switch(0, 0);
        Ok(simulator)
    }

    /// Refers to pages by runs.
    pub fn runs(&mut self, runs: &[PageRun]) {
        if self.world.uses_recorded() {
            return self.guest_runs(runs);
        }
        self.cores[self.active].refer_to_runs(&mut self.world, runs);
    }

    /// Switches to a thread, which keeps its first core; the threads of a guest are its virtual CPUs.
    pub fn switch(&mut self, process: u32, thread: u32) {
        let next = self.seats.len() % self.cores.len();
        self.active = match self.world.is_guest {
            true => thread as usize % self.cores.len(),
            false => *self.seats.entry((process, thread)).or_insert(next),
        };
        (self.process, self.thread) = (process, thread);
        self.switches += 1;
        self.world.switch(process);
        self.cores[self.active].switch(&mut self.world, process, self.switches);
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

    /// What each TLB of a core holds.
    #[cfg(test)]
    pub(crate) fn contents(&self, core: usize) -> Vec<Vec<u64>> {
        self.cores[core].contents()
    }
}
