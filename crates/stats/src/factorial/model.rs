//! The columns of a factorial model: grand mean, blocks, factors and their interactions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{Factor, Factorial, FactorialError};
use crate::least_squares::{Design, Directions};

/// Which coefficients describe what.
pub(crate) struct Model<'a> {
    data: &'a Factorial,
    block_columns: BTreeMap<usize, usize>,
    terms: Vec<Term>,
    order: usize,
}

/// A set of factors (none: the blocks) and its columns.
pub(crate) struct Term {
    pub factors: Vec<usize>,
    pub columns: Range<usize>,
}

impl<'a> Model<'a> {
    /// The model with interactions of at most `order` factors, if `data` can carry it.
    pub(crate) fn new(data: &'a Factorial, order: usize) -> Result<Model<'a>, FactorialError> {
        check(data)?;
        let order = order.clamp(1, data.factors.len());
        let blocks: BTreeSet<usize> =
            data.observations.iter().filter_map(|observation| observation.block).collect();
        let block_columns = blocks.into_iter().zip(0..).collect::<BTreeMap<_, _>>();
        let mut terms = Vec::new();
        let mut next = 1;
        let mut add = |factors: Vec<usize>, columns: usize| {
            terms.push(Term { factors, columns: next..next + columns });
            next += columns;
        };
        if block_columns.len() > 1 {
            add(Vec::new(), block_columns.len() - 1);
        }
        for size in 1..=order {
            for factors in subsets(data.factors.len(), size) {
                let columns = factors.iter().map(|f| data.factors[*f].levels.len() - 1).product();
                add(factors, columns);
            }
        }
        let model = Model { data, block_columns, terms, order };
        model.refuse_empty_cells()?;
        Ok(model)
    }

    pub(crate) fn order(&self) -> usize {
        self.order
    }

    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The factor of this index.
    pub(super) fn factor(&self, index: usize) -> &Factor {
        &self.data.factors[index]
    }

    /// The names of the levels of a cell.
    pub(super) fn level_names(&self, cell: &[usize]) -> Vec<String> {
        let names = self.data.factors.iter().zip(cell);
        names.map(|(factor, level)| factor.levels[*level].clone()).collect()
    }

    /// Number of levels of each factor.
    pub(crate) fn level_counts(&self) -> Vec<usize> {
        self.data.factors.iter().map(|factor| factor.levels.len()).collect()
    }

    /// The columns of one combination of levels; without a block, those of the average block.
    pub(crate) fn row(&self, levels: &[usize], block: Option<usize>) -> Vec<f64> {
        let mut row = vec![1.0];
        for term in &self.terms {
            let codes = if term.factors.is_empty() {
                let code = block.and_then(|block| self.block_columns.get(&block));
                let blocks = self.block_columns.len();
                code.map_or(vec![0.0; blocks - 1], |index| effect_code(*index, blocks))
            } else {
                term.factors.iter().fold(vec![1.0], |product, factor| {
                    let code =
                        effect_code(levels[*factor], self.data.factors[*factor].levels.len());
                    product.iter().flat_map(|a| code.iter().map(move |b| a * b)).collect()
                })
            };
            row.extend(codes);
        }
        row
    }

    /// One row for each observation.
    pub(crate) fn rows(&self) -> Vec<Vec<f64>> {
        let row =
            |observation: &super::FactorialTrial| self.row(&observation.levels, observation.block);
        self.data.observations.iter().map(row).collect()
    }

    /// Its columns, ready for any number of responses.
    pub(crate) fn design(&self) -> Result<Design, FactorialError> {
        Design::new(&self.rows()).map_err(|column| self.aliased(column))
    }

    /// What `terms` add to the rest of the model.
    pub(crate) fn directions<'t>(
        &self,
        design: &Design,
        terms: impl Iterator<Item = &'t Term> + Clone,
    ) -> Result<Directions, FactorialError> {
        let columns = terms.flat_map(|term| term.columns.clone());
        design.directions(columns).map_err(|column| self.aliased(column))
    }

    fn aliased(&self, column: usize) -> FactorialError {
        let term = self.terms.iter().find(|term| term.columns.contains(&column));
        let name = |term| self.name(term).unwrap_or_else(|| "the effect of blocks".to_owned());
        FactorialError::Aliased(term.map_or_else(String::new, name))
    }

    /// Names of the factors of a term, as in `compiler × system`; `None` of blocks.
    pub(super) fn name(&self, term: &Term) -> Option<String> {
        let names: Vec<&str> =
            term.factors.iter().map(|factor| self.data.factors[*factor].name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(" × "))
    }

    /// A term needs every combination of its own factors' levels, whatever the others were.
    fn refuse_empty_cells(&self) -> Result<(), FactorialError> {
        for term in self.terms.iter().filter(|term| !term.factors.is_empty()) {
            if let Some(combination) = first_missing(self.data, &term.factors) {
                let name = |(factor, level): (&usize, usize)| {
                    let factor = &self.data.factors[*factor];
                    format!("{} = {}", factor.name, factor.levels[level])
                };
                let names: Vec<String> = term.factors.iter().zip(combination).map(name).collect();
                return Err(FactorialError::EmptyCell(names.join(", ")));
            }
        }
        Ok(())
    }
}

/// Refuses data that no model can be made for.
pub(crate) fn check(data: &Factorial) -> Result<(), FactorialError> {
    if data.factors.is_empty() {
        return Err(FactorialError::NoFactor);
    }
    if let Some(factor) = data.factors.iter().find(|factor| factor.levels.len() < 2) {
        return Err(FactorialError::TooFewLevels(factor.name.clone()));
    }
    let blocked = data.observations.iter().any(|observation| observation.block.is_some());
    for (index, observation) in data.observations.iter().enumerate() {
        let (found, expected) = (observation.levels.len(), data.factors.len());
        if found != expected {
            return Err(FactorialError::LevelCount { observation: index, found, expected });
        }
        for (factor, &level) in data.factors.iter().zip(&observation.levels) {
            if level >= factor.levels.len() {
                let factor = factor.name.clone();
                return Err(FactorialError::UnknownLevel { observation: index, factor, level });
            }
        }
        if blocked && observation.block.is_none() {
            return Err(FactorialError::BlockMissing(index));
        }
    }
    for (index, factor) in data.factors.iter().enumerate() {
        if let Some(missing) = first_missing(data, &[index]) {
            let level = factor.levels[missing[0]].clone();
            return Err(FactorialError::LevelNotObserved { factor: factor.name.clone(), level });
        }
    }
    Ok(())
}

/// The first combination of all factors' levels without an observation.
pub(crate) fn first_empty_cell(data: &Factorial) -> Option<Vec<usize>> {
    let all: Vec<usize> = (0..data.factors.len()).collect();
    first_missing(data, &all)
}

/// The first combination of these factors' levels without an observation.
fn first_missing(data: &Factorial, factors: &[usize]) -> Option<Vec<usize>> {
    let seen: BTreeSet<Vec<usize>> = data
        .observations
        .iter()
        .map(|observation| factors.iter().map(|factor| observation.levels[*factor]).collect())
        .collect();
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

/// All sets of `size` of the numbers below `count`, in lexicographic order.
fn subsets(count: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with_last = |last: usize| {
        subsets(last, size - 1).into_iter().map(move |mut set| {
            set.push(last);
            set
        })
    };
    let mut sets: Vec<Vec<usize>> = (0..count).flat_map(with_last).collect();
    sets.sort_unstable();
    sets
}
