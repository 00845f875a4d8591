//! What the CPU and the kernel counted for commands, as a table.

use analysis::CommandTimes;
use model::units::measured_duration;
use render::{Cell, Table, format};

/// Below this a count has a decimal.
const FEW: f64 = 100.0;

/// A table with a row for each counter of each command and load, if there are any.
pub(crate) fn count_table(times: &CommandTimes) -> Option<Table> {
    let rows: Vec<[Cell; 6]> = times
        .rows
        .iter()
        .flat_map(|row| row.counts.iter().map(move |count| (row, count)))
        .map(|(row, count)| {
            let interval = count.interval.map(|(low, high)| {
                format::interval(low.max(0.0), high, |value| amount(count.name, value))
            });
            [
                Cell::from(&row.command),
                Cell::from(&row.load),
                Cell::from(words(count.name)),
                Cell::figure(Some(amount(count.name, count.mean))),
                Cell::figure(interval),
                if count.active < 1.0 { Cell::Share(count.active) } else { Cell::blank() },
            ]
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let head = ["command", "load", "counted", "mean", "[95 %]", "of the time"];
    let caption =
        "counted for a repetition, of all processes that had ended (intervals over repetitions)";
    let mut table = Table::of(caption, head, rows);
    if times.rows.iter().flat_map(|row| &row.counts).all(|count| count.active >= 1.0) {
        table.remove_columns(&["of the time"]);
    }
    Some(table)
}

/// The name of a counter in words: that of a programs' part says so.
fn words(name: &str) -> String {
    let words = |name: &str| name.trim_end_matches("_ns").replace('_', " ");
    match name.strip_prefix("user_") {
        Some(name) => format!("{}, user mode", words(name)),
        None => words(name),
    }
}

fn amount(name: &str, value: f64) -> String {
    match name.ends_with("_ns") {
        true => measured_duration(value),
        false if value < FEW => format!("{value:.1}"),
        false => format::grouped(value.round() as u64),
    }
}
