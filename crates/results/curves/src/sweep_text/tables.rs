//! The tables of a sweep: levels, a map of two parameters, and the counters under a knee.

use std::collections::{BTreeMap, BTreeSet};

use analysis::sweep::{Grid, Moved, Mover, Row, SweepResult};
use render::{Block, Cell, Table, format};

use super::Amounts;

/// Columns of figures: heading, and alternative names.
const FIGURES: [(&str, &[&str]); 9] = [
    ("elapsed", &["elapsed_ns"]),
    ("user", &["user_ns"]),
    ("system", &["system_ns"]),
    ("cpu", &["cpu_ns"]),
    ("faults", &["translation_faults", "faults"]),
    ("major", &["major_faults"]),
    ("swap-ins", &["swap_ins"]),
    ("page walks (loads)", &["page_walks"]),
    ("page tables", &["page_table_bytes"]),
];
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
/// Columns of a map, and of one that fits a screen.
pub(super) const MOST_LEVELS: usize = 11;
pub(super) const SCREEN_LEVELS: usize = 7;
/// The ratio of costs with the darkest shade, unless there are larger ones.
const DARKEST: f64 = 4.0;

/// The levels with medians in the columns of 1990, without those that have no data.
pub(super) fn levels(found: &SweepResult, amounts: &Amounts<'_>) -> Table {
    let figure = |row: &Row, names: &[&str]| {
        names.iter().find_map(|name| Some(counted(name, *row.figures.get(*name)?)))
    };
    let is_measured =
        |(_, names): &(&str, &[&str])| found.rows.iter().any(|row| figure(row, names).is_some());
    let columns: Vec<_> = FIGURES.into_iter().filter(is_measured).collect();
    let head = ["level", "n", "relative speed", "cost"].into_iter();
    let head = head.chain(columns.iter().map(|(heading, _)| *heading));
    let rows = found.rows.iter().map(|row| {
        let first = [
            Cell::figure(amounts.level(row.level)),
            row.measurements.into(),
            Cell::decimals(row.relative_speed, 2),
            Cell::figure(row.cost.map(|cost| amounts.cost(cost))),
        ];
        first.into_iter().chain(columns.iter().map(|(_, names)| figure(row, names).into()))
    });
    Table::of("", head, rows)
}

/// A counter, whose name ends in its unit. Per unit of work it may be very small.
fn counted(name: &str, value: f64) -> Cell {
    match name.rsplit_once('_') {
        Some((_, "ns")) => Cell::duration(value),
        Some((_, "bytes")) if value >= 1.0 => Cell::Size(value.round() as u64),
        _ => Cell::figure(format::number(value)),
    }
}

pub(super) fn problems(rows: &[Row], amounts: &Amounts<'_>) -> Vec<String> {
    let mut levels: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in rows {
        let all: BTreeSet<&str> =
            row.problems.iter().flat_map(|problem| problem.split("; ")).collect();
        for problem in all {
            levels.entry(problem).or_default().push(amounts.level(row.level));
        }
    }
    let line = |(problem, levels): (&str, Vec<String>)| match levels.len() == rows.len() {
        true => format!("All levels: {problem}"),
        false => format!("{}: {problem}", levels.join(", ")),
    };
    levels.into_iter().map(line).collect()
}

/// The map: rows are levels of the second parameter, cells costs as multiples of the cheapest one.
/// It has at most this many columns and rows.
pub(super) fn map(grid: &Grid, (most_columns, most_rows): (usize, usize)) -> Vec<Block> {
    let costs = || grid.rows.iter().flat_map(|row| row.costs.iter().flatten().copied());
    let Some(cheapest) = costs().reduce(f64::min).filter(|cost| *cost > 0.0) else {
        return Vec::new();
    };
    let highest = costs().fold(cheapest * DARKEST, f64::max);
    let amounts = Amounts { level_unit: &grid.column_unit, cost_unit: &grid.cost_unit };
    let columns = chosen(grid, most_columns);
    let caption = format!(
        "Cost over {} (columns) and {} (rows), in multiples of the cheapest, {}",
        grid.column_parameter,
        grid.row_parameter,
        amounts.cost(cheapest)
    );
    let levels = columns.iter().map(|column| amounts.level(grid.columns[*column]));
    let rows = grid.rows.iter().take(most_rows).map(|row| {
        let costs = columns.iter().map(|column| row.costs[*column]);
        let cells = costs.map(|cost| cost.map(|cost| shaded(cost, cheapest, highest)).into());
        [Cell::from(&row.level)].into_iter().chain(cells)
    });
    let head = [grid.row_parameter.clone()].into_iter().chain(levels);
    let mut blocks = vec![Table::of(caption, head, rows).into()];
    let left_out = grid.columns.len() - columns.len();
    if left_out > 0 {
        blocks.push(format!("Levels that are only in the tables: {left_out}.").into());
    }
    blocks
}

fn shaded(cost: f64, cheapest: f64, highest: f64) -> Cell {
    let ratio = cost / cheapest;
    let part = ratio.ln() / (highest / cheapest).ln();
    let shade = SHADES[((part * SHADES.len() as f64) as usize).min(SHADES.len() - 1)];
    let number = if ratio >= 99.5 { format!("{ratio:.0}") } else { format!("{ratio:.1}") };
    Cell::figure(format!("{shade}{shade}{number:>4}"))
}

/// The columns of the map: evenly spaced ones among those that most rows have.
fn chosen(grid: &Grid, most: usize) -> Vec<usize> {
    let filled =
        |column: &usize| grid.rows.iter().filter(|row| row.costs[*column].is_some()).count();
    let all = 0..grid.columns.len();
    let fullest = all.clone().map(|column| filled(&column)).max();
    let full: Vec<usize> = all.filter(|column| Some(filled(column)) == fullest).collect();
    let places = most.min(full.len());
    let step = |place: usize| full[place * (full.len() - 1) / (places - 1).max(1)];
    (0..places).map(step).collect()
}

/// The counters that moved at the knee, as tables.
pub fn movers(moved: &Moved, amounts: &Amounts<'_>) -> Vec<Block> {
    let per = if moved.per == "work" { "unit of work" } else { &moved.per };
    let [before, after] = [&moved.plateau, &moved.beyond].map(|levels| span(levels, amounts));
    let caption = format!("What changes there, per {per}: {before} against {after}");
    let still = moved.still.iter().map(|still| format!("Still: {still}"));
    let notes: Vec<String> = still.chain(moved.conclusion.clone()).collect();
    let head = ["counter", "before", "after", "times", "with cost", "what it means"];
    let first: Block = match (moved.movers.is_empty(), notes.is_empty()) {
        (true, true) => return Vec::new(),
        (true, false) => caption.into(),
        (false, _) => Table::of(caption, head, moved.movers.iter().map(mover)).into(),
    };
    vec![first, Block::Notes(notes)]
}

/// The first and the last of some levels as text.
pub fn span(levels: &[f64], amounts: &Amounts<'_>) -> String {
    let ends = levels.iter().copied().reduce(f64::min).zip(levels.iter().copied().reduce(f64::max));
    match ends {
        None => "nothing".to_owned(),
        Some((low, high)) if low == high => amounts.level(low),
        Some((low, high)) => format!("{} to {}", amounts.level(low), amounts.level(high)),
    }
}

fn mover(mover: &Mover) -> [Cell; 6] {
    let name = match mover.also.as_slice() {
        [] => mover.name.clone(),
        also => format!("{} (also {})", mover.name, also.join(", ")),
    };
    [
        name.into(),
        counted(&mover.name, mover.before),
        counted(&mover.name, mover.after),
        Cell::figure(mover.factor.map_or("new".to_owned(), format::factor)),
        Cell::decimals(mover.association, 2),
        mover.meaning.clone().unwrap_or_default().into(),
    ]
}
