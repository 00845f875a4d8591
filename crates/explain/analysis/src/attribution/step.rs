//! From the references to other levels, and back with one factor at a time.

use stats::{Contribution, Factorial, FactorialError, PartChange, PartTrials};

use super::outcome::{
    Effect, Effects, FactorPart, Figure, Neighbour, PartShare, Revert, Scale, Share, Step,
    TwoScales,
};
use super::scales;
use super::table::{Row, Table};
use crate::Factor;

/// Draws of the bootstrap behind intervals of shares.
const RESAMPLES: usize = 2000;
/// Seed of these draws, so that equal data give equal intervals.
const SEED: u64 = 1;

/// The steps from the references to [`ends`].
pub(super) fn steps(table: &Table, confidence: f64) -> Result<Vec<Step>, FactorialError> {
    let step_to = |end: Vec<usize>| {
        let levels: Vec<Vec<usize>> = end.into_iter().map(|level| vec![0, level]).collect();
        step(&table.restricted(&levels), confidence)
    };
    ends(table).into_iter().map(step_to).collect()
}

/// Where the steps end, from the references of all factors.
pub(super) fn ends(table: &Table) -> Vec<Vec<usize>> {
    let last: Vec<usize> = table.factors.iter().map(|factor| factor.levels.len() - 1).collect();
    let many: Vec<usize> = (0..last.len()).filter(|factor| last[*factor] > 1).collect();
    let [factor] = many[..] else { return vec![last] };
    let end = |level| {
        let mut end = last.clone();
        end[factor] = level;
        end
    };
    (1..=last[factor]).map(end).collect()
}

/// A single step; the table has two levels of each factor.
fn step(table: &Table, confidence: f64) -> Result<Step, FactorialError> {
    let data = table.factorial(|row| row.whole);
    let scales = scales::both(&data, confidence)?;
    let cells = &scales.additive.cells;
    let several = table.factors.len() > 1;
    let (mut of_differences, mut of_ratios, mut shares_note) = (Vec::new(), Vec::new(), None);
    let mean = |cell: usize| cells[cell].mean.unwrap_or(f64::NAN);
    let (mut before, mut after) = (mean(0), mean(cells.len() - 1));
    if let Some(means) = predicted(&scales.additive) {
        (before, after) = (means[0], means[means.len() - 1]);
        let of_model = |scale| {
            let found = stats::shapley(&means, scale);
            found.map_or_else(|_| Vec::new(), |found| shares(&data, &found, &[]))
        };
        (of_differences, of_ratios) = (of_model(Scale::Additive), of_model(Scale::Log));
        let missing = cells.iter().filter(|cell| cell.mean.is_none()).count();
        shares_note = Some(format!(
            "{missing} of {} combinations were not run: means of these, and the shares, are those \
             of the model on the additive scale",
            means.len()
        ));
    } else if several {
        match shares_with_intervals(&data, Scale::Additive, confidence) {
            Ok(shares) => of_differences = shares,
            Err(error) => shares_note = Some(error.to_string()),
        }
        if scales.log.is_some() && shares_note.is_none() {
            of_ratios = shares_with_intervals(&data, Scale::Log, confidence).unwrap_or_default();
        }
    }
    Ok(Step {
        shares: of_differences,
        log_shares: of_ratios,
        shares_note,
        reverts: if several { reverts(table, &scales, after) } else { Vec::new() },
        parts: parts(table),
        factors: table.factors.clone(),
        scales,
        before,
        after,
    })
}

/// Fitted means of all combinations if some were not run; bit f of the index: factor f changed.
fn predicted(additive: &Effects) -> Option<Vec<f64>> {
    let cells = &additive.cells;
    if cells.iter().all(|cell| cell.mean.is_some()) {
        return None;
    }
    // The last factor changes fastest.
    let factors = cells.len().trailing_zeros();
    let cell = |combination: usize| {
        (0..factors).fold(0, |cell, factor| cell << 1 | combination >> factor & 1)
    };
    Some((0..cells.len()).map(|combination| cells[cell(combination)].fitted).collect())
}

fn reverts(table: &Table, scales: &TwoScales, after: f64) -> Vec<Revert> {
    let changed: Vec<&String> = table.factors.iter().map(|factor| &factor.levels[1]).collect();
    let at_end = |effects: &Effects, factor: &Factor| {
        let mut of_factor = effects.simple.iter().filter(|effect| effect.factor == factor.name);
        let at_end = of_factor.find(|effect| effect.cell.iter().eq(changed.iter().copied()));
        at_end.map(|effect| effect.figure)
    };
    let revert = |factor: &Factor| {
        let cost = at_end(&scales.additive, factor)?;
        let ratio = scales.log.as_ref().and_then(|log| at_end(log, factor));
        let whole = scales.additive.total.value;
        Some(Revert {
            factor: factor.name.clone(),
            to: factor.levels[0].clone(),
            left: after - cost.value,
            change: reversed(cost, |value| -value),
            ratio: ratio.map(|ratio| reversed(ratio, f64::recip)),
            percent: (whole != 0.0).then(|| 100.0 * cost.value / whole),
        })
    };
    table.factors.iter().filter_map(revert).collect()
}

fn reversed(figure: Figure, back: impl Fn(f64) -> f64) -> Figure {
    let interval = figure.interval.map(|(low, high)| (back(high), back(low)));
    Figure { value: back(figure.value), interval, ..figure }
}

/// Each level against the one before it, from the third on, except loads, which have no order.
pub(super) fn neighbours(table: &Table, confidence: f64) -> Result<Vec<Neighbour>, FactorialError> {
    let mut found = Vec::new();
    let ordered = |(_, factor): &(usize, &Factor)| factor.levels[0] != model::BASELINE;
    let all = table.factors.iter().map(|factor| (0..factor.levels.len()).collect());
    let all: Vec<Vec<usize>> = all.collect();
    for (index, factor) in table.factors.iter().enumerate().filter(ordered) {
        for level in 2..factor.levels.len() {
            let mut levels = all.clone();
            levels[index] = vec![level - 1, level];
            let data = table.restricted(&levels).factorial(|row| row.whole);
            let scales = scales::both(&data, confidence)?;
            let main = |effects: &Effects| -> Option<Effect> {
                effects.main.iter().find(|effect| effect.factor == factor.name).cloned()
            };
            let log = scales.log.as_ref().and_then(main);
            found.extend(main(&scales.additive).map(|additive| Neighbour { additive, log }));
        }
    }
    Ok(found)
}

impl Table {
    /// The trials at some levels of each factor, renumbered in this order.
    fn restricted(&self, levels: &[Vec<usize>]) -> Table {
        let factor = |(factor, kept): (&Factor, &Vec<usize>)| Factor {
            name: factor.name.clone(),
            levels: kept.iter().map(|level| factor.levels[*level].clone()).collect(),
        };
        let row = |row: &Row| {
            let place =
                |(level, kept): (&usize, &Vec<usize>)| kept.iter().position(|other| other == level);
            let levels = row.levels.iter().zip(levels).map(place).collect::<Option<_>>()?;
            Some(Row { levels, ..row.clone() })
        };
        Table {
            factors: self.factors.iter().zip(levels).map(factor).collect(),
            rows: self.rows.iter().filter_map(row).collect(),
            ..self.clone()
        }
    }
}

fn shares_with_intervals(
    data: &Factorial,
    scale: Scale,
    confidence: f64,
) -> Result<Vec<Share>, crate::Refused> {
    let [before, after] = [0, 1].map(|level| vec![level; data.factors.len()]);
    let found = stats::shapley_of(data, &before, &after, scale)?;
    let ends = (&before[..], &after[..]);
    let intervals = stats::shapley_intervals(data, ends, scale, confidence, RESAMPLES, SEED)?;
    Ok(shares(data, &found, &intervals))
}

fn percent((low, high): (f64, f64)) -> (f64, f64) {
    (100.0 * low, 100.0 * high)
}

/// Shares with their intervals; those of a model's means have none.
fn shares(data: &Factorial, all: &[Contribution], intervals: &[Option<(f64, f64)>]) -> Vec<Share> {
    let factors = data.factors.iter().zip(all).enumerate();
    let share = |(index, (factor, found)): (usize, (&Factor, &Contribution))| Share {
        factor: factor.name.clone(),
        contribution: found.effect,
        percent: found.share.map(|share| 100.0 * share),
        interval: intervals.get(index).copied().flatten().map(percent),
        order_bounds: found.lowest_share.zip(found.highest_share).map(percent),
    };
    factors.map(share).collect()
}

fn parts(table: &Table) -> Vec<PartShare> {
    let ends = [0, 1].map(|level| vec![level; table.factors.len()]);
    let part = |name: &String| {
        let [before, after] = ends.each_ref().map(|levels| -> Vec<f64> {
            let rows = table.rows.iter().filter(|row| row.levels == *levels);
            rows.filter_map(|row| row.parts.get(name).copied()).collect()
        });
        let known = !before.is_empty() && !after.is_empty();
        known.then(|| PartTrials { name: name.clone(), before, after })
    };
    let parts: Vec<PartTrials> = table.parts.iter().filter_map(part).collect();
    let found = stats::breakdown(&parts).unwrap_or_default();
    // In table order, so that the last digit does not depend on the sizes.
    let sum = |side: fn(&PartTrials) -> &Vec<f64>| -> f64 {
        parts.iter().filter_map(|part| stats::mean(side(part))).sum()
    };
    let total = sum(|part| &part.after) - sum(|part| &part.before);
    // Bounds are over trials, so every trial must have all parts.
    let mut rows = table.rows.iter().filter(|row| ends.contains(&row.levels));
    let whole = rows.all(|row| row.parts.len() == table.parts.len());
    let share = |change: PartChange| PartShare {
        factors: factors(table, &change.name, &ends, total),
        part: change.name,
        before: change.before,
        after: change.after,
        percent: change.share.map(|share| 100.0 * share),
        bounds: change.share_bounds.filter(|_| whole).map(percent),
    };
    found.into_iter().map(share).collect()
}

/// The Shapley values of several factors for the change of one part; they add over parts.
fn factors(table: &Table, part: &str, ends: &[Vec<usize>; 2], total: f64) -> Vec<FactorPart> {
    if table.factors.len() == 1 {
        return Vec::new();
    }
    let data = table.factorial(|row| row.parts.get(part).copied());
    let found = stats::shapley_of(&data, &ends[0], &ends[1], Scale::Additive);
    let factors = table.factors.iter().zip(found.unwrap_or_default());
    let part = |(factor, found): (&Factor, stats::Contribution)| FactorPart {
        factor: factor.name.clone(),
        contribution: found.effect,
        percent: (total != 0.0).then(|| 100.0 * found.effect / total),
    };
    factors.map(part).collect()
}
