//! From the references to other levels, and back with one factor at a time.

use stats::{Contribution, Factorial, FactorialError, ShapleyError};

use super::outcome::{
    Effect, Effects, Figure, Neighbour, Revert, Share, SimpleEffect, Step, TwoScales,
};
use super::table::{Row, Table};
use super::{corners, parts, scales};
use crate::Factor;

/// Draws of the bootstrap behind intervals of shares.
const RESAMPLES: usize = 2000;
/// Seed of these draws: the same data give the same intervals.
const SEED: u64 = 1;

/// The steps from the references: with one factor of more than two levels one to each of them,
/// else one to the last levels of all.
pub(super) fn steps(table: &Table, confidence: f64) -> Result<Vec<Step>, FactorialError> {
    let step_to = |end: Vec<usize>| {
        let levels: Vec<Vec<usize>> = end.into_iter().map(|level| vec![0, level]).collect();
        step(&table.restricted(&levels), confidence)
    };
    ends(table).into_iter().map(step_to).collect()
}

/// Where the steps end, from the references of all factors.
pub(super) fn ends(table: &Table) -> Vec<Vec<usize>> {
    let many: Vec<usize> =
        (0..table.factors.len()).filter(|f| table.factors[*f].levels.len() > 2).collect();
    let last: Vec<usize> = table.factors.iter().map(|factor| factor.levels.len() - 1).collect();
    match many.as_slice() {
        &[factor] => (1..=last[factor])
            .map(|level| {
                let mut end = last.clone();
                end[factor] = level;
                end
            })
            .collect(),
        _ => vec![last],
    }
}

/// One step; the table has two levels of each factor.
fn step(table: &Table, confidence: f64) -> Result<Step, FactorialError> {
    let data = table.factorial();
    let scales = scales::both(&data, confidence)?;
    let mean = |cell: Option<&super::Cell>| cell.and_then(|cell| cell.mean).unwrap_or(f64::NAN);
    let (mut before, mut after) =
        (mean(scales.additive.cells.first()), mean(scales.additive.cells.last()));
    let several = table.factors.len() > 1;
    let (mut found, mut log_found, mut shares_note) = (Vec::new(), Vec::new(), None);
    if let Some(means) = corners::predicted(&scales.additive) {
        (before, after) = (means[0], means[means.len() - 1]);
        found = shares_of_model(&means, &data, stats::Scale::Additive);
        log_found = shares_of_model(&means, &data, stats::Scale::Log);
        let missing = scales.additive.cells.iter().filter(|cell| cell.mean.is_none()).count();
        shares_note = Some(format!(
            "{missing} of {} combinations were not run: means of these, and the shares, are those \
             of the model on the additive scale",
            means.len()
        ));
    } else if several {
        match shares(&data, stats::Scale::Additive, confidence) {
            Ok(shares) => found = shares,
            Err(error) => shares_note = Some(told(&error, &table.factors)),
        }
        if scales.log.is_some() && shares_note.is_none() {
            log_found = shares(&data, stats::Scale::Log, confidence).unwrap_or_default();
        }
    }
    Ok(Step {
        shares: found,
        log_shares: log_found,
        shares_note,
        reverts: if several { reverts(table, &scales, after) } else { Vec::new() },
        parts: parts::parts(table),
        factors: table.factors.clone(),
        scales,
        before,
        after,
    })
}

fn reverts(table: &Table, scales: &TwoScales, after: f64) -> Vec<Revert> {
    let changed: Vec<&String> = table.factors.iter().map(|factor| &factor.levels[1]).collect();
    let at_end = |effects: &Effects, factor: &Factor| {
        let is_it = |effect: &&SimpleEffect| {
            effect.factor == factor.name && effect.cell.iter().eq(changed.iter().copied())
        };
        effects.simple.iter().find(is_it).map(|effect| effect.figure)
    };
    let revert = |factor: &Factor| {
        let cost = at_end(&scales.additive, factor)?;
        let whole = scales.additive.total.value;
        Some(Revert {
            factor: factor.name.clone(),
            to: factor.levels[0].clone(),
            left: after - cost.value,
            change: reversed(cost, |value| -value),
            ratio: scales
                .log
                .as_ref()
                .and_then(|log| at_end(log, factor))
                .map(|ratio| reversed(ratio, |value| 1.0 / value)),
            percent: (whole != 0.0).then(|| 100.0 * cost.value / whole),
        })
    };
    table.factors.iter().filter_map(revert).collect()
}

/// The effect of going back; the ends of the interval change places.
fn reversed(figure: Figure, back: impl Fn(f64) -> f64) -> Figure {
    Figure {
        value: back(figure.value),
        interval: figure.interval.map(|(low, high)| (back(high), back(low))),
        ..figure
    }
}

/// Each level of a factor against the one before it, from the third on. Loads have no order: they
/// are compared with no load only.
pub(super) fn neighbours(table: &Table, confidence: f64) -> Result<Vec<Neighbour>, FactorialError> {
    let mut found = Vec::new();
    for (index, factor) in table.factors.iter().enumerate() {
        if factor.levels[0] == model::BASELINE {
            continue;
        }
        for level in 2..factor.levels.len() {
            let mut levels: Vec<Vec<usize>> =
                table.factors.iter().map(|factor| (0..factor.levels.len()).collect()).collect();
            levels[index] = vec![level - 1, level];
            let scales = scales::both(&table.restricted(&levels).factorial(), confidence)?;
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
    /// The trials at some levels of each factor only, renumbered in the order given.
    pub(super) fn restricted(&self, levels: &[Vec<usize>]) -> Table {
        let factor = |(factor, kept): (&Factor, &Vec<usize>)| Factor {
            name: factor.name.clone(),
            levels: kept.iter().map(|level| factor.levels[*level].clone()).collect(),
        };
        let row = |row: &Row| {
            let renumbered = row
                .levels
                .iter()
                .zip(levels)
                .map(|(level, kept)| kept.iter().position(|other| other == level))
                .collect::<Option<Vec<usize>>>()?;
            Some(Row { levels: renumbered, ..row.clone() })
        };
        Table {
            factors: self.factors.iter().zip(levels).map(factor).collect(),
            rows: self.rows.iter().filter_map(row).collect(),
            ..self.clone()
        }
    }
}

/// Shapley shares of the factors on one scale, or why there are none.
fn shares(
    data: &Factorial,
    scale: stats::Scale,
    confidence: f64,
) -> Result<Vec<Share>, ShapleyError> {
    let (before, after) = (vec![0; data.factors.len()], vec![1; data.factors.len()]);
    let found = stats::shapley_of(data, &before, &after, scale)?;
    let ends = (before.as_slice(), after.as_slice());
    let intervals = stats::shapley_intervals(data, ends, scale, confidence, RESAMPLES, SEED)?;
    let factors = data.factors.iter().zip(&found.contributions).zip(intervals);
    Ok(factors.map(|((factor, found), interval)| share(factor, found, interval)).collect())
}

/// Shapley shares of means that a model has, which have no intervals of their own.
fn shares_of_model(means: &[f64], data: &Factorial, scale: stats::Scale) -> Vec<Share> {
    let Ok(found) = stats::shapley(means, scale) else { return Vec::new() };
    let factors = data.factors.iter().zip(&found.contributions);
    factors.map(|(factor, found)| share(factor, found, None)).collect()
}

fn share(factor: &stats::Factor, found: &Contribution, interval: Option<(f64, f64)>) -> Share {
    let percent = |(low, high): (f64, f64)| (100.0 * low, 100.0 * high);
    Share {
        factor: factor.name.clone(),
        contribution: found.effect,
        percent: found.share.map(|share| 100.0 * share),
        interval: interval.map(percent),
        order_bounds: found.lowest_share.zip(found.highest_share).map(percent),
    }
}

/// In words, with the combination that is missing.
fn told(error: &ShapleyError, factors: &[Factor]) -> String {
    let ShapleyError::EmptyCell(levels) = error else { return error.to_string() };
    let level =
        |(factor, level): (&Factor, &usize)| format!("{} = {}", factor.name, factor.levels[*level]);
    let names: Vec<String> = factors.iter().zip(levels).map(level).collect();
    format!("no observation of {}: measure it", names.join(", "))
}
