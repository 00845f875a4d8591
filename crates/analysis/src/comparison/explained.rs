//! What the differences of mean delays consist of.

use std::collections::BTreeMap;

use super::arms::{ArmTrials, Arms};
use super::cells::DELAY;
use super::{Cell, PairedBy, Unit};
use crate::explained::{Explained, Value, difference};
use crate::{Standing, Trial};

/// Adds what it consists of to every difference of delays, where both arms have explained samples.
pub(super) fn add(arms: &Arms, cells: &mut [Cell], alpha: f64) {
    for cell in cells.iter_mut().filter(|cell| cell.response == DELAY && cell.part.is_none()) {
        let sides = [0, cell.arm].map(|arm| trials(arms, &arms.all[arm], cell));
        let key: Option<fn(&Trial) -> Option<u64>> = match cell.paired_by {
            Some(PairedBy::Seed) => Some(|trial| trial.seed),
            Some(PairedBy::Block) => Some(|trial| trial.block),
            None => None,
        };
        let values = match key {
            Some(key) => partners(&sides, key),
            None => sides.map(|trials| values(&trials, cell.unit)),
        };
        let [first, second] = &values;
        cell.explained = difference([first, second], key.is_some(), 1.0 - alpha);
    }
}

/// The trials of an arm in a cell whose samples are explained.
fn trials<'a>(arms: &Arms, arm: &ArmTrials<'a>, cell: &Cell) -> Vec<&'a Trial> {
    let is_explained = |trial: &Trial| {
        trial.standing() == Standing::Counts && trial.explained.iter().any(Explained::is_counted)
    };
    let in_cell = |trial: &&&Trial| is_explained(trial) && arms.place(trial) == cell.levels;
    arm.trials.iter().filter(in_cell).copied().collect()
}

/// What counts as one value in this cell.
fn values<'a>(trials: &[&'a Trial], unit: Unit) -> Vec<Value<'a>> {
    match unit {
        Unit::Trials => trials.iter().map(|trial| trial.explained.iter().collect()).collect(),
        Unit::Samples => {
            trials.iter().flat_map(|trial| &trial.explained).map(|sample| vec![sample]).collect()
        }
    }
}

/// The trials that have a partner in the other arm, in the order of their keys.
fn partners<'a>(
    sides: &[Vec<&'a Trial>; 2],
    key: impl Fn(&Trial) -> Option<u64>,
) -> [Vec<Value<'a>>; 2] {
    let keyed = |trials: &[&'a Trial]| -> BTreeMap<u64, &'a Trial> {
        trials.iter().filter_map(|trial| Some((key(trial)?, *trial))).collect()
    };
    let maps = [keyed(&sides[0]), keyed(&sides[1])];
    let common: Vec<u64> =
        maps[0].keys().filter(|key| maps[1].contains_key(key)).copied().collect();
    maps.map(|map| common.iter().map(|key| map[key].explained.iter().collect()).collect())
}
