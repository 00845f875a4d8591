//! A comparison on one screen: the conclusion, the cells that show it, and what changes its meaning.

use analysis::comparison::{Cell, Comparison};
use render::{Block, Document, Table, format};
use stats::Verdict;

use super::{View, cells, conclusion, legend};
use crate::remarks::cut;

/// Most rows of the table.
const MOST_ROWS: usize = 8;
/// Most notes.
const MOST_NOTES: usize = 2;
/// Columns that explain a figure.
const OF_DETAILS: [&str; 1] = ["reason"];
/// A column that says nothing where all rows have one load.
const LOAD: &str = "load";

pub(super) fn brief(comparison: &Comparison) -> Document<'static> {
    let mut table = brief_table(comparison);
    let more = table.rows.len().saturating_sub(MOST_ROWS);
    table.rows.truncate(MOST_ROWS);
    let mut notes = important_notes(comparison);
    if more > 0 {
        notes.insert(0, format!("{more} more cells differ less, or are as certain: --details."));
    }
    if comparison.cells.iter().any(|cell| cell.judged().is_some()) {
        let [margin, alpha] = [comparison.margin, comparison.alpha].map(format::percent);
        notes.push(format!(
            "Ratios above 1 are worse; margin {margin}; chance of any wrong verdict: {alpha}."
        ));
    }
    let blocks = vec![table.into(), Block::Notes(notes)];
    let (verdicts, facts) = (vec![conclusion(comparison)], letters(comparison));
    Document { verdicts, facts, blocks, ..Document::default() }
}

/// The arms by their letters, where their names are too long for a table.
pub(crate) fn letters(comparison: &Comparison) -> Vec<(String, String)> {
    match (View { comparison }).has_letters() {
        true => legend(comparison),
        false => Vec::new(),
    }
}

/// A row per cell, those that differ first, the largest ratio first.
pub(crate) fn brief_table(comparison: &Comparison) -> Table {
    let view = View { comparison };
    let mut table = cells::verdicts(&view);
    let rank = |cell: &Cell| match cell.verdict {
        Verdict::Regression | Verdict::Difference => 0,
        Verdict::Improvement => 1,
        Verdict::CannotTell => 2,
        Verdict::Equivalent => 3,
    };
    let far = |cell: &Cell| cell.ratio().map_or(0.0, |ratio| ratio.ln().abs());
    let mut order: Vec<usize> = (0..comparison.cells.len()).collect();
    if comparison.cells.len() > MOST_ROWS {
        order.sort_by(|one, other| {
            let [one, other] = [one, other].map(|index| &comparison.cells[*index]);
            rank(one).cmp(&rank(other)).then(far(other).total_cmp(&far(one)))
        });
    }
    table.rows = order.into_iter().map(|index| table.rows[index].clone()).collect();
    table.remove_columns(&OF_DETAILS);
    for name in &mut table.head {
        *name = name.trim_end_matches(" median").to_owned();
    }
    let mut loads = comparison.cells.iter().map(|cell| cell.levels.get(LOAD));
    let first = loads.next().flatten();
    if loads.all(|load| load == first) {
        table.remove_columns(&[LOAD]);
    }
    table
}

/// What changes the meaning of a comparison: how its inputs were made, and what is left out.
pub(crate) fn important_notes(comparison: &Comparison) -> Vec<String> {
    let warnings = comparison.warnings.iter().map(|warning| format!("Warning: {warning}."));
    let mut notes: Vec<String> = warnings.collect();
    let of_cells = comparison.cells.iter().flat_map(|cell| &cell.notes);
    notes.extend(analysis::distinct(of_cells.map(|note| format!("Note: {note}."))));
    let more = cut(&mut notes, MOST_NOTES);
    let left_out = comparison.left_out.len();
    if left_out > 0 {
        notes.push(format!("{} left out.", format::counted(left_out, "cell")));
    }
    notes.extend(more);
    notes
}
