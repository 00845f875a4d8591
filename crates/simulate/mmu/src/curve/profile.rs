//! A trace's curves: everything that was requested, in one pass over its blocks.

use serde::Serialize;
use trace::Block;

use super::log_linear::lowest;
use super::space::CurveError;
use super::{
    MeanSize, SampledDistances, Sampling, SetStacks, StackDistances, Unit, Window, WorkingSet,
};

/// Size of the regions of a working set, as a logarithm: 2 MiB.
const REGION_SHIFT: u32 = 21;
/// Steps in a doubling of the sizes of a curve, as a logarithm.
const STEPS_LOG2: u32 = 3;

/// The requested curves of a trace.
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

/// The curves of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profiled {
    /// Number of counted references.
    pub references: u64,
    /// References of other processes than the requested one.
    pub left_out: u64,
    /// The requested process, if any.
    pub process: Option<u32>,
    /// One for each unit, in the requested order.
    pub units: Vec<UnitCurves>,
}

/// The curves for pages of one size, or for lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitCurves {
    /// Size of the unit.
    pub unit_bytes: u64,
    /// Misses by size.
    pub curve: MissRatioCurve,
    /// Misses by number of ways, for each number of sets.
    pub sets: Vec<SetCurve>,
    /// The working set over time, if requested.
    pub working_set: Option<WorkingSets>,
}

/// Misses of a fully associative LRU cache over its size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissRatioCurve {
    /// Number of references.
    pub references: u64,
    /// First references, which miss at any size: the (estimated) number of distinct units.
    pub cold_misses: u64,
    /// The sample behind the curve, if it is not exact.
    pub sample: Option<Sample>,
    /// Up to twice as many entries as units, eight sizes in each doubling.
    pub points: Vec<CurvePoint>,
}

/// A sample of the units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The final part of all units that is sampled.
    pub rate: f64,
    /// How many units that was.
    pub units: u64,
    /// How many references were of sampled units.
    pub references: u64,
    /// The smallest size that has an estimate.
    pub smallest_entries: u64,
    /// Probability with which the interval of a point holds the truth.
    pub confidence: f64,
}

/// One size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Size in entries.
    pub entries: u64,
    /// Misses, those of first references included.
    pub misses: u64,
    /// Misses in a reference.
    pub miss_ratio: f64,
    /// Lower end of the miss ratio's interval; only of a sample.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Misses of a set-associative LRU cache over its ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetCurve {
    /// Number of sets.
    pub sets: u64,
    /// Misses with 1, 2, … ways, those of first references included.
    pub misses: Vec<u64>,
}

/// The working set over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkingSets {
    /// Mean sizes for windows of all lengths.
    pub means: Vec<MeanSize>,
    /// The units referenced, window by window.
    pub windows: Vec<Window>,
}

/// The counts for a trace's curves.
#[derive(Clone, Debug)]
pub struct Profile {
    views: Vec<View>,
    process: Option<u32>,
    references: u64,
    left_out: u64,
}

/// The counts of one unit.
#[derive(Clone, Debug)]
struct View {
    unit: Unit,
    distances: Distances,
    sets: Vec<SetStacks>,
    working_set: Option<WorkingSet>,
}

#[derive(Clone, Debug)]
enum Distances {
    Exact(StackDistances),
    Sampled(SampledDistances),
}

impl Profile {
    /// No counts yet; an error if part of the request is out of range.
    pub fn new(request: &Request) -> Result<Self, CurveError> {
        let views = request.units.iter().map(|unit| View::new(*unit, request));
        Ok(Self {
            views: views.collect::<Result<_, _>>()?,
            process: request.process,
            references: 0,
            left_out: 0,
        })
    }

    /// Counts the references of a block. Processes have separate pages, even where they share
    /// memory. Fails when a process number is too large for the key, or when single
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

    /// The curves of all counts.
    pub fn finish(self) -> Profiled {
        Profiled {
            references: self.references,
            left_out: self.left_out,
            process: self.process,
            units: self.views.into_iter().map(of_view).collect(),
        }
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

    /// One analysis at a time, for the processor's caches.
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

fn of_view(view: View) -> UnitCurves {
    let sets = view.sets.iter();
    UnitCurves {
        unit_bytes: view.unit.bytes(),
        curve: match &view.distances {
            Distances::Exact(exact) => of_exact(exact),
            Distances::Sampled(sample) => of_sample(sample),
        },
        sets: sets.map(|of| SetCurve { sets: of.sets(), misses: of.misses() }).collect(),
        working_set: view.working_set.map(|working_set| {
            let (windows, means) = working_set.finish();
            WorkingSets { means, windows }
        }),
    }
}

/// Sizes up to twice this many units, to show a flat end.
fn sizes(units: u64) -> Vec<u64> {
    let all = (1..).map(|step| lowest(step, STEPS_LOG2));
    all.take_while(|size| *size <= units.saturating_mul(2).max(1)).collect()
}

fn of_exact(exact: &StackDistances) -> MissRatioCurve {
    let sizes = sizes(exact.cold());
    let misses = exact.misses(&sizes);
    let point = |(entries, misses): (u64, u64)| {
        let miss_ratio = ratio(misses as f64, exact.references);
        CurvePoint { entries, misses, miss_ratio, low: None, high: None }
    };
    MissRatioCurve {
        references: exact.references,
        cold_misses: exact.cold(),
        sample: None,
        points: sizes.into_iter().zip(misses).map(point).collect(),
    }
}

fn of_sample(sample: &SampledDistances) -> MissRatioCurve {
    let cold_misses = sample.cold().misses.round() as u64;
    let sizes = sizes(cold_misses.max(sample.smallest()));
    let ratio = |misses: f64| ratio(misses, sample.references);
    let estimates = sizes.iter().zip(sample.misses(&sizes));
    let points = estimates.filter_map(|(entries, estimate)| {
        estimate.map(|estimate| CurvePoint {
            entries: *entries,
            misses: estimate.misses.round() as u64,
            miss_ratio: ratio(estimate.misses),
            low: Some(ratio(estimate.low)),
            high: Some(ratio(estimate.high)),
        })
    });
    MissRatioCurve {
        references: sample.references,
        cold_misses,
        points: points.collect(),
        sample: Some(Sample {
            rate: sample.rate(),
            units: sample.keys() as u64,
            references: sample.sampled,
            smallest_entries: sample.smallest(),
            confidence: SampledDistances::CONFIDENCE,
        }),
    }
}

/// 0 without references.
fn ratio(misses: f64, references: u64) -> f64 {
    if references == 0 { 0.0 } else { misses / references as f64 }
}
