//! Attribution: which factor, and which part of the work, caused a change.
//!
//! A factorial experiment is fitted as differences and as ratios; the smaller interaction shows
//! whether costs add or multiply. For a step from the references to other levels, each factor gets
//! its Shapley share, each part of the work (a command) its additive share, and a counter its
//! price.

mod ledger;
mod mediation;
mod outcome;
mod scales;
mod step;
mod table;

use std::collections::BTreeMap;

pub use ledger::{Condition, Distance, Ledger, ledger};
pub use mediation::{FAULT_COST_FACT, USERS_FACT};
pub use outcome::{
    Attribution, Cell, CostOrigin, Effect, Effects, FactorPart, Figure, Mediated, MediationOutcome,
    Neighbour, Noise, PartShare, Revert, Scale, Share, SimpleEffect, Step, Term, TwoScales,
};
use stats::{Factorial, FactorialError, FactorialTrial};
use table::{Row, Table};

use crate::{Dataset, Refused};

/// Options of an attribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The response; by default CPU time, faults or delays, whichever most trials have.
    pub response: Option<String>,
    /// The factors; by default all with at least two levels.
    pub factors: Vec<String>,
    /// Levels to compare, the reference first; by default all observed ones.
    pub levels: BTreeMap<String, Vec<String>>,
    /// A count that may explain the response.
    pub mediator: Option<String>,
    /// Cost of one count of the mediator, in ns.
    pub unit_cost_ns: Option<f64>,
    /// How many users share the count, where the response is per user.
    pub per: Option<f64>,
    /// Coverage of all intervals, 0 to 1.
    pub confidence: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            response: None,
            factors: Vec::new(),
            levels: BTreeMap::new(),
            mediator: None,
            unit_cost_ns: None,
            per: None,
            confidence: 0.95,
        }
    }
}

/// Attributes the change of a response. Fails if a requested name or a level combination is
/// absent.
pub fn attribute(dataset: &Dataset, options: &Options) -> Result<Attribution, Refused> {
    let mut table = Table::new(dataset, options)?;
    let refused = |error| {
        Refused::new(match error {
            FactorialError::EmptyCell(combination) => format!(
                "{}: no trial of {combination}: measure it, or leave one of its levels out with \
                 --levels",
                dataset.name
            ),
            error => format!("{}: {error}", dataset.name),
        })
    };
    let both = |table: &Table| scales::both(&table.factorial(|row| row.whole), options.confidence);
    let overall = match both(&table) {
        // Blocks confounded with the factors are useless.
        Err(FactorialError::Aliased(term)) if table.rows.iter().any(|it| it.block.is_some()) => {
            table.rows.iter_mut().for_each(|row| row.block = None);
            table.notes.push(format!("blocks are not used: with them {term} cannot be estimated"));
            both(&table)
        }
        overall => overall,
    };
    let overall = overall.map_err(refused)?;
    let steps = step::steps(&table, options.confidence).map_err(refused)?;
    let neighbours = step::neighbours(&table, options.confidence).map_err(refused)?;
    let mediation = mediation::mediation(dataset, &mut table, options)?;
    let noise = match (overall.additive.residual_df, dataset.deterministic) {
        (0, _) => Noise::Absent,
        (_, true) => Noise::Seeds,
        (_, false) => Noise::Trials,
    };
    Ok(Attribution {
        source: dataset.name.clone(),
        measured: dataset.responses[&table.response].clone(),
        confidence: options.confidence,
        trials: table.rows.iter().filter(|row| row.whole.is_some()).count(),
        noise,
        overall,
        steps,
        neighbours,
        mediation,
        notes: dataset.notes.iter().cloned().chain(table.notes).collect(),
        response: table.response,
        factors: table.factors,
        aside: table.aside,
    })
}

impl Table {
    fn factorial(&self, figure: impl Fn(&Row) -> Option<f64>) -> Factorial {
        let observation = |row: &Row| {
            let value = figure(row)?;
            Some(FactorialTrial { levels: row.levels.clone(), block: row.block, value })
        };
        let observations = self.rows.iter().filter_map(observation).collect();
        Factorial { factors: self.factors.clone(), observations }
    }
}
