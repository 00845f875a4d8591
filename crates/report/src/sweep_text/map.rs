//! Two parameters at once as a map of shades.

use analysis::sweep::{Grid, GridRow};

use super::amounts::Amounts;
use crate::columns::to_the_right;

/// From cheap to dear.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
/// Most columns that fit on a line.
const MOST_COLUMNS: usize = 11;
/// A cost of this many times the cheapest one has the darkest shade, unless there are dearer ones.
const DARKEST: f64 = 4.0;

/// The map: rows are levels of the second parameter, cells costs in multiples of the cheapest one.
pub(super) fn text(grid: &Grid) -> String {
    let costs = || grid.rows.iter().flat_map(|row| row.costs.iter().flatten().copied());
    let Some(cheapest) = costs().reduce(f64::min).filter(|cost| *cost > 0.0) else {
        return String::new();
    };
    let dearest = costs().fold(cheapest * DARKEST, f64::max);
    let amounts = Amounts::of_units(&grid.column_unit, &grid.cost_unit, &grid.column_parameter);
    let columns = chosen(grid);
    let mut heading = vec![grid.row_parameter.clone()];
    heading.extend(columns.iter().map(|column| amounts.level(grid.columns[*column])));
    let mut table = vec![heading];
    for GridRow { level, costs, .. } in &grid.rows {
        let mut cells = vec![level.clone()];
        cells.extend(columns.iter().map(|column| match costs[*column] {
            Some(cost) => cell(cost, cheapest, dearest),
            None => "-".to_owned(),
        }));
        table.push(cells);
    }
    let mut text = format!(
        "Cost over {} (columns) and {} (rows), in multiples of the cheapest, {}\n{}",
        amounts.parameter,
        grid.row_parameter,
        amounts.cost(cheapest),
        to_the_right(&table)
    );
    let left_out = grid.columns.len() - columns.len();
    if left_out > 0 {
        text += &format!("Levels that stand in the tables only: {left_out}.\n");
    }
    text
}

/// `▓▓ 3.2`.
fn cell(cost: f64, cheapest: f64, dearest: f64) -> String {
    let ratio = cost / cheapest;
    let part = ratio.ln() / (dearest / cheapest).ln();
    let shade = SHADES[((part * SHADES.len() as f64) as usize).min(SHADES.len() - 1)];
    let number = if ratio >= 99.5 { format!("{ratio:.0}") } else { format!("{ratio:.1}") };
    format!("{shade}{shade}{number:>4}")
}

/// The columns of the map: those that the most rows have, and of these not too many, evenly.
fn chosen(grid: &Grid) -> Vec<usize> {
    let filled = |column: usize| grid.rows.iter().filter(|row| row.costs[column].is_some()).count();
    let most = (0..grid.columns.len()).map(filled).max().unwrap_or(0);
    let full: Vec<usize> =
        (0..grid.columns.len()).filter(|column| filled(*column) == most).collect();
    if full.len() <= MOST_COLUMNS {
        return full;
    }
    let last = full.len() - 1;
    (0..MOST_COLUMNS).map(|place| full[place * last / (MOST_COLUMNS - 1)]).collect()
}
