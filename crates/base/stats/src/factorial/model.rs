//! The columns of a factorial model: grand mean, blocks, factors and their interactions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use itertools::Itertools;

use super::{Factorial, FactorialError};
use crate::least_squares::Design;
use crate::{Refused, refused};

pub(crate) struct Model<'a> {
    pub(super) data: &'a Factorial,
    block_columns: BTreeMap<usize, usize>,
    pub(crate) terms: Vec<Term>,
    pub(crate) level_counts: Vec<usize>,
}

/// A set of factors (none: the blocks) and its columns.
pub(crate) struct Term {
    pub factors: Vec<usize>,
    pub columns: Range<usize>,
}

impl<'a> Model<'a> {
    /// The model with interactions of at most `order` factors, if `data` has all that it needs.
    pub(crate) fn new(data: &'a Factorial, order: usize) -> Result<Model<'a>, FactorialError> {
        check(data)?;
        let blocks: BTreeSet<usize> =
            data.observations.iter().filter_map(|observation| observation.block).collect();
        let block_columns = blocks.into_iter().zip(0..).collect::<BTreeMap<_, _>>();
        let level_counts: Vec<usize> =
            data.factors.iter().map(|factor| factor.levels.len()).collect();
        let mut terms = Vec::new();
        let mut next = 1;
        let mut add = |factors: Vec<usize>, columns: usize| {
            terms.push(Term { factors, columns: next..next + columns });
            next += columns;
        };
        if block_columns.len() > 1 {
            add(Vec::new(), block_columns.len() - 1);
        }
        for size in 1..=order.clamp(1, data.factors.len()) {
            for factors in (0..data.factors.len()).combinations(size) {
                let columns = factors.iter().map(|factor| level_counts[*factor] - 1).product();
                add(factors, columns);
            }
        }
        let model = Model { data, block_columns, terms, level_counts };
        model.refuse_empty_cells()?;
        Ok(model)
    }

    /// The columns of a level combination; without a block, those of the average block.
    pub(crate) fn row(&self, levels: &[usize], block: Option<usize>) -> Vec<f64> {
        let mut row = vec![1.0];
        for term in &self.terms {
            let codes = if term.factors.is_empty() {
                let code = block.and_then(|block| self.block_columns.get(&block));
                let blocks = self.block_columns.len();
                code.map_or(vec![0.0; blocks - 1], |index| effect_code(*index, blocks))
            } else {
                term.factors.iter().fold(vec![1.0], |product, factor| {
                    let code = effect_code(levels[*factor], self.level_counts[*factor]);
                    product.iter().flat_map(|a| code.iter().map(move |b| a * b)).collect()
                })
            };
            row.extend(codes);
        }
        row
    }

    pub(crate) fn rows(&self) -> Vec<Vec<f64>> {
        self.data.observations.iter().map(|each| self.row(&each.levels, each.block)).collect()
    }

    pub(crate) fn design(&self) -> Result<Design, FactorialError> {
        Design::new(&self.rows()).map_err(|column| self.aliased(column))
    }

    /// What `terms` add to the rest of the model, as response directions.
    pub(crate) fn directions<'t>(
        &self,
        design: &Design,
        terms: impl Iterator<Item = &'t Term>,
    ) -> Result<Vec<Vec<f64>>, FactorialError> {
        let columns: Vec<usize> = terms.flat_map(|term| term.columns.clone()).collect();
        design.directions(&columns).map_err(|column| self.aliased(column))
    }

    fn aliased(&self, column: usize) -> FactorialError {
        let term = self.terms.iter().find(|term| term.columns.contains(&column));
        let name = |term| self.name(term).unwrap_or_else(|| "the effect of blocks".to_owned());
        FactorialError::Aliased(term.map_or_else(String::new, name))
    }

    pub(super) fn level_names(&self, cell: &[usize]) -> Vec<String> {
        let names = self.data.factors.iter().zip(cell);
        names.map(|(factor, level)| factor.levels[*level].clone()).collect()
    }

    /// The name of a term, such as `compiler × system`; `None` for blocks.
    pub(super) fn name(&self, term: &Term) -> Option<String> {
        let names: Vec<&str> =
            term.factors.iter().map(|factor| self.data.factors[*factor].name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(" × "))
    }

    /// A term needs every combination of its own factors' levels.
    fn refuse_empty_cells(&self) -> Result<(), FactorialError> {
        let missing = self.terms.iter().filter(|term| !term.factors.is_empty()).find_map(|term| {
            let levels = first_missing(self.data, &term.factors)?;
            Some(self.data.combination(term.factors.iter().copied().zip(levels)))
        });
        missing.map_or(Ok(()), |missing| Err(FactorialError::EmptyCell(missing)))
    }
}

impl Factorial {
    /// Factors with their levels, as in `compiler = v2, system = 18.9`.
    pub(crate) fn combination(&self, levels: impl Iterator<Item = (usize, usize)>) -> String {
        let name = |(factor, level): (usize, usize)| {
            let factor = &self.factors[factor];
            format!("{} = {}", factor.name, factor.levels[level])
        };
        levels.map(name).collect::<Vec<_>>().join(", ")
    }
}

pub(crate) fn check(data: &Factorial) -> Result<(), Refused> {
    if data.factors.is_empty() {
        return refused("no factor: an experiment varies at least one");
    }
    if let Some(factor) = data.factors.iter().find(|factor| factor.levels.len() < 2) {
        let name = &factor.name;
        return refused(format!(
            "factor {name} has fewer than two levels: give it a second one or leave it out"
        ));
    }
    let blocked = data.observations.iter().any(|observation| observation.block.is_some());
    for (index, observation) in data.observations.iter().enumerate() {
        let (found, expected) = (observation.levels.len(), data.factors.len());
        if found != expected {
            return refused(format!(
                "observation {index} has {found} levels for {expected} factors"
            ));
        }
        for (factor, level) in data.factors.iter().zip(&observation.levels) {
            if *level >= factor.levels.len() {
                let name = &factor.name;
                return refused(format!(
                    "observation {index}: factor {name} has no level number {level} (from 0)"
                ));
            }
        }
        if blocked && observation.block.is_none() {
            return refused(format!(
                "observation {index} has no block while others have: give all a block or none"
            ));
        }
    }
    let unseen = |index: usize| Some((index, first_missing(data, &[index])?[0]));
    let Some(level) = (0..data.factors.len()).find_map(unseen) else { return Ok(()) };
    let level = data.combination([level].into_iter());
    refused(format!("no observation of {level}: measure it or leave the level out"))
}

/// The first combination of these factors' levels without an observation.
pub(crate) fn first_missing(data: &Factorial, factors: &[usize]) -> Option<Vec<usize>> {
    let of_factors = |levels: &[usize]| factors.iter().map(|factor| levels[*factor]).collect();
    let seen: BTreeSet<Vec<usize>> =
        data.observations.iter().map(|each| of_factors(&each.levels)).collect();
    let counts: Vec<usize> =
        factors.iter().map(|factor| data.factors[*factor].levels.len()).collect();
    crate::design::full_factorial(&counts).into_iter().find(|cell| !seen.contains(cell))
}

/// Sum-to-zero code of a level: a unit vector, or all -1 for the last level.
fn effect_code(level: usize, levels: usize) -> Vec<f64> {
    (0..levels - 1)
        .map(|column| match level {
            _ if level == levels - 1 => -1.0,
            _ if level == column => 1.0,
            _ => 0.0,
        })
        .collect()
}
