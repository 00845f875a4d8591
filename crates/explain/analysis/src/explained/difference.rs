//! The difference of two mean delays, part by part.

use std::collections::BTreeMap;

use serde::Serialize;
use stats::{Pairing, mean, mean_difference};

use super::{Explained, Part};

/// Why the mean delay of two arms differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedDifference {
    /// Mean delays in ns, with their difference.
    pub delay: PartDifference,
    /// Each part that both arms know. They sum to the delay only if [`Self::unknown`] is empty.
    pub parts: BTreeMap<Part, PartDifference>,
    /// Parts that an arm does not know.
    pub unknown: Vec<Part>,
    /// Number of values of each arm: means of trials, or samples.
    pub values: [usize; 2],
    /// Confidence of each interval.
    pub confidence: f64,
}

/// Means of the two arms and their difference, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PartDifference {
    /// The first arm's mean.
    pub first_ns: f64,
    /// The other arm's mean.
    pub second_ns: f64,
    /// Second minus first.
    pub difference_ns: f64,
    /// The interval of the difference by Welch's t, of pairs by Student's.
    pub interval_ns: Option<(f64, f64)>,
}

/// The parts of the difference of mean delays of two arms; `None` if a value has no sample. A
/// value is a trial's samples or one sample; paired values have equal positions.
pub(crate) fn difference(
    arms: [&[&[Explained]]; 2],
    paired: bool,
    confidence: f64,
) -> Option<ExplainedDifference> {
    if arms.iter().any(|values| values.is_empty() || values.iter().any(|it| it.is_empty())) {
        return None;
    }
    let of = |read: &dyn Fn(&Explained) -> u64| {
        let mean_of = |samples: &&[Explained]| {
            samples.iter().map(|sample| read(sample) as f64).sum::<f64>() / samples.len() as f64
        };
        let [first, second] = arms.map(|values| values.iter().map(mean_of).collect::<Vec<f64>>());
        let (first_ns, second_ns) = (mean(&first)?, mean(&second)?);
        let pairing = if paired { Pairing::Paired } else { Pairing::Unpaired };
        Some(PartDifference {
            first_ns,
            second_ns,
            difference_ns: second_ns - first_ns,
            interval_ns: mean_difference(&first, &second, pairing, confidence),
        })
    };
    let part_ns = |sample: &Explained, part| sample.parts_ns.get(&part).copied().flatten();
    let is_known = |part: &Part| {
        let known = |values: &[&[Explained]]| {
            values.iter().copied().flatten().any(|sample| part_ns(sample, *part).is_some())
        };
        arms.iter().all(|values| known(values))
    };
    let (known, unknown): (Vec<Part>, Vec<Part>) =
        Part::ALL.iter().partition(|part| is_known(part));
    let parts = known.into_iter().map(|part| {
        let found = of(&|sample| part_ns(sample, part).unwrap_or(0));
        Some((part, found?))
    });
    Some(ExplainedDifference {
        delay: of(&|sample| sample.delay_ns)?,
        parts: parts.collect::<Option<_>>()?,
        unknown,
        values: arms.map(<[_]>::len),
        confidence,
    })
}
