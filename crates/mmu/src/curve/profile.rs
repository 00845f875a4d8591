//! A trace's curves: everything that is asked for, in one pass over its blocks.

use trace::Block;

use super::space::CurveError;
use super::{SampledDistances, Sampling, SetStacks, StackDistances, Unit, WorkingSet};

/// Size of the regions of a working set, as a logarithm: 2 MiB.
const REGION_SHIFT: u32 = 21;

/// What is asked of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Pages or lines; a curve for each.
    pub units: Vec<Unit>,
    /// Numbers of sets, powers of two, for curves over the number of ways.
    pub sets: Vec<u64>,
    /// The largest number of ways.
    pub ways: usize,
    /// A sample instead of all.
    pub sampling: Option<Sampling>,
    /// Seed of the sample.
    pub seed: u64,
    /// Length of the windows of the working set, in references.
    pub window: Option<u64>,
    /// One process instead of all together.
    pub process: Option<u32>,
}

/// The curves of a trace in the making.
#[derive(Clone, Debug)]
pub struct Profile {
    pub(super) views: Vec<View>,
    pub(super) process: Option<u32>,
    pub(super) references: u64,
    pub(super) left_out: u64,
}

/// All that is counted for one unit.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) unit: Unit,
    pub(super) distances: Distances,
    pub(super) sets: Vec<SetStacks>,
    pub(super) working_set: Option<WorkingSet>,
}

#[derive(Clone, Debug)]
pub(super) enum Distances {
    Exact(StackDistances),
    Sampled(SampledDistances),
}

impl Profile {
    /// Nothing yet; an error if something asked for is out of range.
    pub fn new(request: &Request) -> Result<Self, CurveError> {
        let views = request.units.iter().map(|unit| View::new(*unit, request));
        Ok(Self {
            views: views.collect::<Result<_, _>>()?,
            process: request.process,
            references: 0,
            left_out: 0,
        })
    }

    /// Counts the references of a block. Processes have pages of their own, also where the system
    /// lets them share memory. Fails when a process cannot be told from others, or single
    /// references are needed and missing.
    pub fn block(&mut self, block: &Block) -> Result<(), CurveError> {
        let references: u64 = block.runs.iter().map(|run| u64::from(run.count)).sum();
        if self.process.is_some_and(|process| process != block.process) {
            self.left_out += references;
            return Ok(());
        }
        self.references += references;
        for view in &mut self.views {
            view.block(block)?;
        }
        Ok(())
    }

    /// How many references were counted.
    pub fn references(&self) -> u64 {
        self.references
    }
}

impl View {
    fn new(unit: Unit, request: &Request) -> Result<Self, CurveError> {
        let ways = request.ways;
        let stacks = |sets: &u64| {
            let why = "sets are a power of two, and ways at least one";
            let refused = || CurveError(format!("{sets} sets of up to {ways} ways: {why}"));
            SetStacks::new(*sets, ways).ok_or_else(refused)
        };
        let region_shift = REGION_SHIFT.saturating_sub(unit.bytes().ilog2());
        let distances = match request.sampling {
            None => Distances::Exact(StackDistances::default()),
            Some(sampling) => {
                let why = "a rate is above 0 and at most 1, a number of keys at least 8";
                let found = SampledDistances::new(sampling, request.seed);
                let refused = || CurveError(format!("{sampling:?}: {why}"));
                Distances::Sampled(found.ok_or_else(refused)?)
            }
        };
        Ok(Self {
            unit,
            distances,
            sets: request.sets.iter().map(stacks).collect::<Result<_, _>>()?,
            working_set: request.window.map(|window| WorkingSet::new(region_shift, window)),
        })
    }

    fn block(&mut self, block: &Block) -> Result<(), CurveError> {
        let unit = self.unit;
        let process = unit.process_key(block.process)?;
        if !unit.is_line() {
            self.runs(|| {
                block.runs.iter().map(|run| (process | unit.of_page(run.page), run.count.into()))
            });
            return Ok(());
        }
        if block.references.is_empty() && !block.runs.is_empty() {
            let why = "the trace has pages and no single references, so it has no curve of lines: \
                       record it with references, or leave --line out";
            return Err(CurveError(why.to_owned()));
        }
        self.runs(|| {
            let references = block.references.iter();
            references.map(|reference| (process | unit.of_address(reference.address()), 1))
        });
        Ok(())
    }

    /// Each analysis by itself, so that it has the processor's caches to itself.
    fn runs<I: Iterator<Item = (u64, u64)>>(&mut self, runs: impl Fn() -> I) {
        match &mut self.distances {
            Distances::Exact(exact) => runs().for_each(|(key, count)| exact.run(key, count)),
            Distances::Sampled(sample) => runs().for_each(|(key, count)| sample.run(key, count)),
        }
        for stacks in &mut self.sets {
            runs().for_each(|(key, count)| stacks.run(key, count));
        }
        if let Some(working_set) = &mut self.working_set {
            runs().for_each(|(key, count)| working_set.run(key, count));
        }
    }
}
