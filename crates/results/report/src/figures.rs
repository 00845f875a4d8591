//! Figures that the user's commands print, in sentences and a table.

use analysis::PrintedFigure;
use model::Observation;
use model::units::format_duration;
use profile::Counted;
use render::{Cell, Table, Verdict, format};

use crate::command_ratios::{compared, label, ratio_cells};

/// What a figure shows, in a sentence: its median against that without load, or the first command's.
pub(crate) fn figure_verdict(figure: &PrintedFigure) -> Verdict {
    let median = format::quantity(figure.median, &figure.response.unit);
    let text = format!("{}: {} is {median}", label(&figure.command, &figure.load), figure.name);
    compared(text, [figure.to_noload, figure.to_first], figure.response.more_is_better())
}

pub(crate) fn figure_table(figures: &[PrintedFigure]) -> Table {
    let head = ["command", "load", "figure", "better", "n", "median", "lowest", "highest"];
    let head = head.into_iter().chain(["to noload", "95 % interval"]);
    let rows = figures.iter().map(|figure| {
        let unit = &figure.response.unit;
        let extreme = |least: fn(f64, f64) -> f64| figure.values.iter().copied().reduce(least);
        let [ratio, interval] = ratio_cells(figure.to_noload, &figure.load);
        [
            Cell::from(&figure.command),
            Cell::from(&figure.load),
            Cell::from(&figure.name),
            Cell::from(figure.response.direction.word()),
            Cell::from(figure.values.len()),
            cell(figure.median, unit),
            extreme(f64::min).map(|it| cell(it, unit)).into(),
            extreme(f64::max).map(|it| cell(it, unit)).into(),
            ratio,
            interval,
        ]
    });
    Table::of("what the command printed, for each repetition", head, rows)
}

fn cell(value: f64, unit: &str) -> Cell {
    match unit {
        "ns" => Cell::Duration(Observation::exact(value)),
        unit => Cell::Figure(format::quantity(value, unit)),
    }
}

/// The caption of a table that has `most` of `all` rows; empty if it has all.
pub(crate) fn most_of(most: usize, all: usize, what: &str) -> String {
    if all > most { format!("{most} of {all} {what}") } else { String::new() }
}

/// A difference of counts with its sign: `+1,200`.
pub(crate) fn signed_count(more: i64) -> String {
    signed_words(more, Counted::Instructions)
}

/// A count of a profile: `1,200`, or `3.2ms`.
pub(crate) fn count_words(count: u64, counted: Counted) -> String {
    match counted {
        Counted::Instructions => format::grouped(count),
        Counted::OnCpuNs | Counted::WaitsNs => format_duration(count),
    }
}

/// What follows a count where it has no unit.
pub(crate) fn noun(counted: Counted) -> &'static str {
    match counted {
        Counted::Instructions => " instructions",
        Counted::OnCpuNs | Counted::WaitsNs => "",
    }
}

/// A count of a profile in a table.
pub(crate) fn count_cell(count: u64, counted: Counted) -> Cell {
    match counted {
        Counted::Instructions => Cell::grouped(count),
        Counted::OnCpuNs | Counted::WaitsNs => Cell::duration(count as f64),
    }
}

/// A difference of such counts with its sign.
pub(crate) fn signed_words(more: i64, counted: Counted) -> String {
    let sign = if more < 0 { "-" } else { "+" };
    format!("{sign}{}", count_words(more.unsigned_abs(), counted))
}

/// The interval of a share, in percent: `[78, 87]`.
pub(crate) fn in_percent((low, high): (f64, f64)) -> String {
    format!("[{:.0}, {:.0}]", 100.0 * low, 100.0 * high)
}

/// A part of a whole; 0 of nothing.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use analysis::responsiveness::{Claim, Ratio};
    use analysis::{Direction, Response};
    use render::Tone;

    use super::*;

    #[test]
    fn a_rate_that_fell_is_worse_and_a_time_that_fell_is_better() {
        let fell = Ratio {
            ratio: 0.5,
            low: 0.4,
            high: 0.6,
            allowed: None,
            confidence: 0.95,
            claim: Claim::ThisRun,
            units: 1,
            method: None,
            needs: None,
        };
        let figure = |name: &str, unit: &str, more_is_better: bool| PrintedFigure {
            command: "./client".to_owned(),
            load: "cpuload".to_owned(),
            name: name.to_owned(),
            response: Response {
                unit: unit.to_owned(),
                direction: Direction::from_more(more_is_better),
                additive: false,
            },
            values: vec![1e6, 2e6, 4e6],
            median: 2e6,
            to_noload: Some(fell),
            to_first: None,
        };
        let (rate, time) = (figure("tps_per_s", "/s", true), figure("p99_ns", "ns", false));
        let verdict = figure_verdict(&rate);
        assert_eq!(verdict.tone, Tone::Doubtful);
        let begin = "./client under cpuload: tps_per_s is ";
        assert!(verdict.text.starts_with(begin), "{}", verdict.text);
        assert!(verdict.text.contains("0.50 times that without load [0.40, 0.60]."));
        assert_eq!(figure_verdict(&time).tone, Tone::Better);
        let table = figure_table(&[rate, time]);
        assert_eq!(table.rows[1][5], Cell::duration(2e6));
    }
}
