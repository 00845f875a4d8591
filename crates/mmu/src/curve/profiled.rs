//! What the curves of a trace are when it has been read to its end.

use serde::Serialize;

use super::log_linear::lowest;
use super::profile::{Distances, Profile, View};
use super::{MeanSize, SampledDistances, StackDistances, Window};

/// Steps in a doubling of the sizes of a curve, as a logarithm.
const STEPS_LOG2: u32 = 3;

/// The curves of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profiled {
    /// How many references were counted.
    pub references: u64,
    /// References of other processes than the one that was asked for.
    pub left_out: u64,
    /// The process, if one was asked for.
    pub process: Option<u32>,
    /// One for each unit, in the order asked for.
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
    /// The working set over time, if it was asked for.
    pub working_set: Option<WorkingSets>,
}

/// Misses of a fully associative LRU cache over its size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissRatioCurve {
    /// How many references there were.
    pub references: u64,
    /// First references, which miss whatever the size: the number of distinct units. Of a sample,
    /// its estimate.
    pub cold_misses: u64,
    /// The sample that the curve comes from, if it is not exact.
    pub sample: Option<Sample>,
    /// From one entry up to twice as many as there are units, eight sizes in each doubling.
    pub points: Vec<CurvePoint>,
}

/// A sample of the units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// Part of all units that was sampled at the end.
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
    /// What was referred to, window by window.
    pub windows: Vec<Window>,
}

impl Profile {
    /// What was counted.
    pub fn finish(self) -> Profiled {
        Profiled {
            references: self.references,
            left_out: self.left_out,
            process: self.process,
            units: self.views.into_iter().map(of_view).collect(),
        }
    }
}

fn of_view(view: View) -> UnitCurves {
    UnitCurves {
        unit_bytes: view.unit.bytes(),
        curve: match &view.distances {
            Distances::Exact(exact) => of_exact(exact),
            Distances::Sampled(sample) => of_sample(sample),
        },
        sets: view
            .sets
            .iter()
            .map(|stacks| SetCurve { sets: stacks.sets(), misses: stacks.misses() })
            .collect(),
        working_set: view.working_set.map(|working_set| {
            let (windows, means) = working_set.finish();
            WorkingSets { means, windows }
        }),
    }
}

/// Sizes up to twice so many units: what is flat at the end can be seen to be so.
fn sizes(units: u64) -> Vec<u64> {
    let all = (1..).map(|step| lowest(step, STEPS_LOG2));
    all.take_while(|size| *size <= units.saturating_mul(2).max(1)).collect()
}

fn of_exact(exact: &StackDistances) -> MissRatioCurve {
    let sizes = sizes(exact.cold());
    let misses = exact.misses(&sizes);
    let point = |(entries, misses): (u64, u64)| CurvePoint {
        entries,
        misses,
        miss_ratio: ratio(misses as f64, exact.total()),
        low: None,
        high: None,
    };
    MissRatioCurve {
        references: exact.total(),
        cold_misses: exact.cold(),
        sample: None,
        points: sizes.into_iter().zip(misses).map(point).collect(),
    }
}

fn of_sample(sample: &SampledDistances) -> MissRatioCurve {
    let cold_misses = sample.cold().misses.round() as u64;
    let sizes = sizes(cold_misses.max(sample.smallest()));
    let ratio = |misses: f64| ratio(misses, sample.total());
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
        references: sample.total(),
        cold_misses,
        points: points.collect(),
        sample: Some(Sample {
            rate: sample.rate(),
            units: sample.keys() as u64,
            references: sample.sampled(),
            smallest_entries: sample.smallest(),
            confidence: SampledDistances::CONFIDENCE,
        }),
    }
}

/// Of no references there is no miss.
fn ratio(misses: f64, references: u64) -> f64 {
    if references == 0 { 0.0 } else { misses / references as f64 }
}
