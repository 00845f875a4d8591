//! The table of a sweep, in the columns of 1990: a row a level.

use std::collections::{BTreeMap, BTreeSet};

use analysis::sweep::{Found, Row};

use super::amounts::{Amounts, count};
use crate::columns::to_the_right;

/// A column of figures: heading, names of which the first that a row has is taken, unit in ns of a
/// time.
struct Figure {
    heading: &'static str,
    names: &'static [&'static str],
    is_time: bool,
}

const FIGURES: [Figure; 9] = [
    Figure { heading: "elapsed", names: &["elapsed_ns"], is_time: true },
    Figure { heading: "user", names: &["user_ns"], is_time: true },
    Figure { heading: "system", names: &["system_ns"], is_time: true },
    Figure { heading: "cpu", names: &["cpu_ns"], is_time: true },
    Figure { heading: "faults", names: &["translation_faults", "faults"], is_time: false },
    Figure { heading: "major", names: &["major_faults"], is_time: false },
    Figure { heading: "swap-ins", names: &["swap_ins"], is_time: false },
    Figure { heading: "page walks (loads)", names: &["page_walks"], is_time: false },
    Figure { heading: "page tables KiB", names: &["page_table_bytes"], is_time: false },
];
/// Times from here on are told in s.
const LONG_NS: f64 = 1e10;

/// The levels from low to high; columns that nobody measured are left out. Medians over the
/// measurements of a level.
pub(super) fn text(found: &Found, amounts: &Amounts<'_>) -> String {
    let columns: Vec<(String, Vec<String>)> =
        FIGURES.iter().filter_map(|figure| column(figure, &found.rows)).collect();
    let mut heading = vec![amounts.level_heading(), "n".to_owned()];
    heading.extend(["relative speed", "cost"].map(str::to_owned));
    heading.extend(columns.iter().map(|(heading, _)| heading.clone()));
    let mut table = vec![heading];
    for (index, row) in found.rows.iter().enumerate() {
        let mut cells = vec![amounts.bare_level(row.level), row.measurements.to_string()];
        cells.push(or_dash(row.relative_speed, |speed| format!("{speed:.2}")));
        cells.push(or_dash(row.cost, |cost| amounts.cost(cost)));
        cells.extend(columns.iter().map(|(_, column)| column[index].clone()));
        table.push(cells);
    }
    to_the_right(&table) + &problems(&found.rows, amounts)
}

/// What was said of measurements, each once with its levels.
fn problems(rows: &[Row], amounts: &Amounts<'_>) -> String {
    let mut levels: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in rows {
        let all: BTreeSet<&str> =
            row.problems.iter().flat_map(|problem| problem.split("; ")).collect();
        for problem in all {
            levels.entry(problem).or_default().push(amounts.level(row.level));
        }
    }
    let line = |(problem, levels): (&str, Vec<String>)| match levels.len() == rows.len() {
        true => format!("All levels: {problem}\n"),
        false => format!("{}: {problem}\n", levels.join(", ")),
    };
    levels.into_iter().map(line).collect()
}

fn or_dash(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

/// A column with one unit for all its cells; `None` if no row has it.
fn column(figure: &Figure, rows: &[Row]) -> Option<(String, Vec<String>)> {
    let value = |row: &Row| figure.names.iter().find_map(|name| row.figures.get(*name)).copied();
    let values: Vec<Option<f64>> = rows.iter().map(value).collect();
    let largest = values.iter().flatten().copied().reduce(f64::max)?;
    if !figure.is_time {
        let scale = if figure.names == ["page_table_bytes"] { 1024.0 } else { 1.0 };
        let cells = values.iter().map(|value| or_dash(*value, |value| count(value / scale)));
        return Some((figure.heading.to_owned(), cells.collect()));
    }
    let (unit, scale) = if largest >= LONG_NS { ("s", 1e9) } else { ("ms", 1e6) };
    let cells = values.iter().map(|value| or_dash(*value, |value| format!("{:.1}", value / scale)));
    Some((format!("{} {unit}", figure.heading), cells.collect()))
}
