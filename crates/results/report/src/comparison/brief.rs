//! A comparison on one screen: the conclusion, the cells that show it, and what changes its meaning.

use analysis::comparison::{Cell, Comparison};
use render::{Block, Document, Table, Verdict, format};
use stats::Verdict as Judged;

use super::{View, cells, conclusion, legend};
use crate::remarks::cut;

/// Most rows of the table.
const MOST_ROWS: usize = 8;
/// Most notes.
const MOST_NOTES: usize = 2;
/// Rows where several things are compared with one: their names take lines, too.
const MOST_ROWS_OF_SEVERAL: usize = 6;
const MOST_NOTES_OF_SEVERAL: usize = 1;
/// A column that explains a figure, and those for which several arms leave no place.
const REASON: &str = "reason";
const INTERVAL: &str = "interval";
const RESPONSE: &str = "response";
/// A column that says nothing where all rows have one load.
const LOAD: &str = "load";

pub(super) fn brief(comparison: &Comparison) -> Document<'static> {
    let is_several = comparison.arms.len() > 2;
    let (most, most_notes) = match is_several {
        true => (MOST_ROWS_OF_SEVERAL, MOST_NOTES_OF_SEVERAL),
        false => (MOST_ROWS, MOST_NOTES),
    };
    let mut table = brief_table(comparison);
    let more = table.rows.len().saturating_sub(most);
    table.rows.truncate(most);
    let mut notes = first_notes(comparison, most_notes);
    if is_several {
        table.remove_columns(&[INTERVAL]);
        if comparison.responses.len() == 1 {
            table.remove_columns(&[RESPONSE]);
        }
    }
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
    let conclusion = conclusion(comparison);
    let verdict = match is_several {
        true => Verdict { text: counts(comparison), ..conclusion },
        false => conclusion,
    };
    Document { verdicts: vec![verdict], facts: letters(comparison), blocks, ..Document::default() }
}

/// How many cells of each arm are worse, better, equal or open, against the first arm:
/// `Against A, in so many cells: B (5): worse in 1, equivalent in 4; C …`.
fn counts(comparison: &Comparison) -> String {
    const WORDS: [(Judged, &str); 5] = [
        (Judged::Regression, "worse"),
        (Judged::Improvement, "better"),
        (Judged::Difference, "different"),
        (Judged::Equivalent, "equivalent"),
        (Judged::CannotTell, "open"),
    ];
    let view = View { comparison };
    let of_arm = |arm: usize| {
        let cells = || comparison.cells.iter().filter(|cell| cell.arm == arm);
        let count = |verdict: Judged| cells().filter(|cell| cell.verdict == verdict).count();
        let counted = WORDS.map(|(verdict, word)| (count(verdict), word));
        let counted = counted.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> =
            counted.map(|(count, word)| format!("{word} in {count}")).collect();
        format!("{} ({}): {}", view.arm(arm), cells().count(), words.join(", "))
    };
    let arms: Vec<String> = (1..comparison.arms.len()).map(of_arm).collect();
    format!("Against {}, in so many cells: {}.", view.arm(0), arms.join("; "))
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
        Judged::Regression | Judged::Difference => 0,
        Judged::Improvement => 1,
        Judged::CannotTell => 2,
        Judged::Equivalent => 3,
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
    table.remove_columns(&[REASON]);
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
    first_notes(comparison, MOST_NOTES)
}

fn first_notes(comparison: &Comparison, most: usize) -> Vec<String> {
    let warnings = comparison.warnings.iter().map(|warning| format!("Warning: {warning}."));
    let mut notes: Vec<String> = warnings.collect();
    let of_cells = comparison.cells.iter().flat_map(|cell| &cell.notes);
    notes.extend(analysis::distinct(of_cells.map(|note| format!("Note: {note}."))));
    let more = cut(&mut notes, most);
    let left_out = comparison.left_out.len();
    if left_out > 0 {
        notes.push(format!("{} left out.", format::counted(left_out, "cell")));
    }
    notes.extend(more);
    notes
}
