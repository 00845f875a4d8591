//! An A/A test: its noise, and how often noise alone raises an alarm.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use stats::Verdict;

use crate::comparison::{Comparison, Outcome, Request, compare};
use crate::{Dataset, Refused, Trial};

/// Labellings tried; if there are more, a seeded sample of this size.
const MOST_LABELLINGS: u64 = 1024;

/// The result of an A/A test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstItself {
    /// The arms, compared as if they differed.
    pub comparison: Comparison,
    /// How far from 1 a ratio may lie by noise alone, per cell.
    pub floors: Vec<Floor>,
    /// Number of labellings of the arms within blocks.
    pub labellings: u64,
    /// Labellings with a verdict of regression or improvement.
    pub alarms: u64,
    /// Labellings with a significant difference of any size.
    pub significant: u64,
}

impl AgainstItself {
    /// Whether any cell was judged to differ.
    pub fn is_alarm(&self) -> bool {
        self.comparison.cells.iter().any(|cell| is_different(cell.verdict))
    }
}

fn is_different(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Regression | Verdict::Improvement)
}

/// The noise of one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Floor {
    /// The response.
    pub response: String,
    /// Levels and part in words.
    pub label: String,
    /// The larger distance from 1 of the interval's ends; `None` without an interval.
    pub noise: Option<f64>,
}

/// Compares the two levels of `factor`, which are the same thing, under all labellings within
/// blocks. These are equally likely, so the share of alarms is the false-alarm rate. Fails as
/// [`compare`].
pub fn against_itself(
    set: &Dataset,
    factor: &str,
    request: &Request,
) -> Result<AgainstItself, Refused> {
    let request = Request { factor: Some(factor.to_owned()), ..request.clone() };
    let one = std::slice::from_ref(set);
    let comparison = compare(one, &request)?;
    let floors = comparison.cells.iter().map(|cell| Floor {
        response: cell.response.clone(),
        label: cell.label(),
        noise: match &cell.outcome {
            Outcome::Identical => Some(0.0),
            Outcome::Judged(found) => Some((found.high - 1.0).max(1.0 / found.low - 1.0)),
            Outcome::Untested { .. } | Outcome::Ends(_) => None,
        },
    });
    let floors = floors.collect();
    let blocks: BTreeSet<Option<u64>> = set.trials.iter().map(|trial| trial.block).collect();
    let (mut alarms, mut significant) = (0, 0);
    let labellings = labellings(blocks.len());
    for swapped in &labellings {
        let swapped = blocks.iter().zip(swapped).filter(|(_, swap)| **swap);
        let renamed = renamed(set, factor, &swapped.map(|(block, _)| *block).collect());
        let found = compare(std::slice::from_ref(&renamed), &request)?;
        let verdicts = found.cells.iter().map(|cell| cell.verdict);
        let mut verdicts = verdicts.chain(found.overall.iter().map(|overall| overall.verdict));
        alarms += u64::from(verdicts.any(is_different));
        let mut judged = found.cells.iter().filter_map(|cell| cell.judged());
        significant += u64::from(judged.any(|cell| cell.p_adjusted <= request.settings.alpha));
    }
    let labellings = labellings.len() as u64;
    Ok(AgainstItself { comparison, floors, labellings, alarms, significant })
}

/// Whether each block's arms are swapped, for each labelling; mirror images are omitted.
fn labellings(blocks: usize) -> Vec<Vec<bool>> {
    let free = blocks.saturating_sub(1);
    let all = 1_u64.checked_shl(free as u32).filter(|all| *all <= MOST_LABELLINGS);
    if let Some(all) = all {
        let bits =
            |number: u64| (0..blocks).map(move |block| block < free && number >> block & 1 == 1);
        return (0..all).map(|number| bits(number).collect()).collect();
    }
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut drawn = || (0..blocks).map(|_| random.random::<bool>()).collect();
    (0..MOST_LABELLINGS).map(|_| drawn()).collect()
}

/// Swaps the two levels of a factor in some blocks.
fn renamed(set: &Dataset, factor: &str, blocks: &BTreeSet<Option<u64>>) -> Dataset {
    let levels = set.factor(factor).map_or(&[][..], |found| &found.levels);
    let mut renamed = set.clone();
    let Some([first, second]) = levels.first_chunk::<2>() else { return renamed };
    let exchange = |trial: &mut Trial| {
        if let Some(level) = trial.levels.get_mut(factor) {
            *level = if level == first { second.clone() } else { first.clone() };
        }
    };
    renamed.trials.iter_mut().filter(|trial| blocks.contains(&trial.block)).for_each(exchange);
    renamed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Direction;
    use crate::{Factor, Response, Values};

    /// Eight blocks of two arms; the second one takes `slower` times as long.
    fn set(slower: f64) -> Dataset {
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let mut set = Dataset {
            factors: vec![Factor {
                name: "arm".to_owned(),
                levels: vec!["first".to_owned(), "second".to_owned()],
            }],
            responses: BTreeMap::from([(
                "elapsed_ns".to_owned(),
                Response {
                    unit: "ns".to_owned(),
                    direction: Direction::LessIsBetter,
                    additive: false,
                },
            )]),
            ..Dataset::default()
        };
        for block in 0..8 {
            for (arm, factor) in [("first", 1.0), ("second", slower)] {
                let value = factor * (100.0 + random.random_range(0.0..5.0));
                set.trials.push(Trial {
                    name: format!("{arm}-{block}"),
                    levels: BTreeMap::from([("arm".to_owned(), arm.to_owned())]),
                    block: Some(block),
                    values: vec![Values::exact(None, "elapsed_ns", &[value])],
                    ..Trial::default()
                });
            }
        }
        set
    }

    #[test]
    fn noise_alone_raises_hardly_any_alarm_and_has_a_size() {
        let found = against_itself(&set(1.0), "arm", &Request::default()).unwrap();
        assert_eq!((found.labellings, found.alarms), (128, 0));
        assert!(found.significant * 20 <= found.labellings, "{}", found.significant);
        let floor = found.floors[0].noise.unwrap();
        assert!(floor > 0.005 && floor < 0.05, "{floor}");
    }

    #[test]
    fn what_is_not_the_same_thing_is_noticed() {
        let found = against_itself(&set(1.5), "arm", &Request::default()).unwrap();
        assert_eq!(found.comparison.cells[0].verdict, stats::Verdict::Regression);
    }

    #[test]
    fn labellings_are_all_or_a_fixed_draw() {
        assert_eq!(labellings(1), [[false]]);
        assert_eq!(labellings(3).len(), 4);
        assert_eq!(labellings(40).len(), 1024);
        assert_eq!(labellings(40), labellings(40));
    }
}
