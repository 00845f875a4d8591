//! Which functions account for a difference between runs of deterministic machines.

use std::path::{Path, PathBuf};

use agent::Waiter;
use analysis::comparison::{Cell, Comparison};
use anyhow::Context;
use profile::{Difference, FunctionCounts, FunctionPair, Selection};
use report::{functions_document, with_functions};
use serde::Serialize;
use stats::Verdict;
use store::paired_runs::{ArmRuns, paired_runs};

use crate::profile::observe;
use crate::progress::Progress;
use crate::{Failure, Result, chain};

/// Pairs of runs that are profiled; more make intervals smaller.
const MOST_PAIRS: usize = 5;

/// The mean difference between the runs of each pair. Fails as `profile` does.
fn difference_of(
    pairs: &[[PathBuf; 2]],
    waiter: &Waiter,
    progress: &Progress,
) -> Result<Difference> {
    let mut is_per_command = false;
    let mut functions = |file: &PathBuf| -> Result<Vec<FunctionCounts>> {
        let observed = observe(file, &[], &|_| Ok(Selection::Run), None, waiter, progress)?;
        is_per_command = observed.profile.is_mean(&observed.selection);
        Ok(observed.profile.comparable_functions(&observed.selection))
    };
    let mut both = |[first, second]: &[PathBuf; 2]| Ok([functions(first)?, functions(second)?]);
    let pairs: Vec<FunctionPair> = pairs.iter().map(&mut both).collect::<Result<_>>()?;
    Ok(Difference { is_per_command, ..Difference::of(&pairs) })
}

/// The mean difference below an answer that stands without it: what prevents it is said, and the
/// command succeeds.
pub(crate) fn difference_if_possible(
    pairs: &[[PathBuf; 2]],
    progress: &Progress,
) -> Result<Option<Difference>> {
    let waiter = Waiter::new().context("catch signals")?;
    if_possible(difference_of(pairs, &waiter, progress), &waiter, progress)
}

/// A difference, or `None` where what prevents it was said. Fails when the user stops it.
pub(crate) fn if_possible(
    found: Result<Difference>,
    waiter: &Waiter,
    progress: &Progress,
) -> Result<Option<Difference>> {
    match found {
        Ok(difference) => Ok(Some(difference)),
        Err(_) if waiter.stop_requested() => Err(Failure::Interrupted),
        // Without the engine, for example.
        Err(Failure::NotMeasured(error) | Failure::WrongUse(error)) => {
            progress.say(&format!("which functions changed is unknown: {}", chain(&error)));
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

/// Two things that differ, and the functions that account for the difference.
pub(crate) struct ChangedFunctions {
    pub(crate) names: [String; 2],
    pub(crate) difference: Difference,
}

impl ChangedFunctions {
    /// Finds the functions behind the largest change of a comparison. The inner error says why
    /// there are none.
    pub(crate) fn of(
        found: &Comparison,
        progress: &Progress,
    ) -> Result<std::result::Result<Self, &'static str>> {
        let Some(cell) = most_changed(found) else { return Ok(Err("nothing changed for certain")) };
        let pairs = pairs(found, cell)?;
        if pairs.is_empty() {
            let why = "the changed runs are not of a deterministic machine, in pairs with one seed \
                       (run --subject vm)";
            return Ok(Err(why));
        }
        let difference = difference_if_possible(&pairs[..pairs.len().min(MOST_PAIRS)], progress)?;
        let name = |arm: usize| found.arms[arm].name.clone();
        let names = [name(0), name(cell.arm)];
        Ok(difference.map(|difference| Self { names, difference }).ok_or("they cannot be observed"))
    }

    /// They alone, for who has seen the comparison.
    pub(crate) fn document(&self) -> render::Document<'static> {
        functions_document(self.names.each_ref().map(String::as_str), &self.difference)
    }

    /// Adds them to the document of the comparison, whose data is `result`.
    pub(crate) fn add_to<'a>(
        self,
        document: render::Document<'a>,
        result: impl Serialize + 'a,
    ) -> render::Document<'a> {
        let [first, second] = &self.names;
        with_functions(document, result, [first, second], self.difference)
    }
}

/// The cell with the largest change that is certain.
fn most_changed(found: &Comparison) -> Option<&Cell> {
    let is_certain =
        |cell: &&Cell| matches!(cell.verdict, Verdict::Regression | Verdict::Improvement);
    let size = |cell: &&Cell| cell.ratio().map_or(f64::INFINITY, |ratio| ratio.ln().abs());
    found.cells.iter().filter(is_certain).max_by(|one, other| size(one).total_cmp(&size(other)))
}

/// The runs of the first arm and of a cell's with the same seeds.
fn pairs(found: &Comparison, cell: &Cell) -> Result<Vec<[PathBuf; 2]>> {
    let arm = |number: usize| {
        let level =
            found.factor.as_deref().map(|factor| (factor, found.arms[number].name.as_str()));
        let input = match level {
            Some(_) => found.inputs.first(),
            None => found.inputs.get(number),
        };
        let what = Path::new(input.map_or("", String::as_str));
        what.exists().then_some(ArmRuns { what, level, levels: &cell.levels })
    };
    match (arm(0), arm(cell.arm)) {
        (Some(first), Some(second)) => {
            Ok(paired_runs(&first, &second).context("find the runs of both")?)
        }
        _ => Ok(Vec::new()),
    }
}
