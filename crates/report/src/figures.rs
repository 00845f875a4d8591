//! Figures that the user's commands print, in sentences and a table.

use analysis::PrintedFigure;
use model::{BASELINE, Observation};
use render::{Cell, Table, Tone, Verdict, format};

/// What a figure shows, in a sentence: its median against that without load, or the first command's.
pub(crate) fn figure_verdict(figure: &PrintedFigure) -> Verdict {
    let under = match figure.load == BASELINE {
        true => String::new(),
        false => format!(" under {}", figure.load),
    };
    let median = format::quantity(figure.median, &figure.response.unit);
    let mut text = format!("{}{under}: {} is {median}", figure.command, figure.name);
    let ratios = [(figure.to_noload, "without load"), (figure.to_first, "of the first command")];
    for (ratio, than) in ratios.into_iter().filter_map(|(ratio, than)| Some((ratio?, than))) {
        let interval = format::interval(ratio.low, ratio.high, format::ratio);
        let times = format!("{}{}", ratio.mark(), format::ratio(ratio.ratio));
        text += &format!(", {times} times that {than} {interval}");
        if ratio.low <= 1.0 && ratio.high >= 1.0 {
            text += " (no difference is certain)";
        }
    }
    let more_is_better = figure.response.more_is_better;
    let tone = match figure.to_noload.or(figure.to_first) {
        Some(ratio) if ratio.low > 1.0 && !more_is_better => Tone::Doubtful,
        Some(ratio) if ratio.high < 1.0 && more_is_better => Tone::Doubtful,
        Some(ratio) if ratio.low > 1.0 || ratio.high < 1.0 => Tone::Better,
        _ => Tone::Plain,
    };
    Verdict { text: text + ".", tone }
}

pub(crate) fn figure_table(figures: &[PrintedFigure]) -> Table {
    let head = ["command", "load", "figure", "better", "n", "median", "lowest", "highest"];
    let head = head.into_iter().chain(["to noload", "95 % interval"]);
    let rows = figures.iter().map(|figure| {
        let unit = &figure.response.unit;
        let extreme = |least: fn(f64, f64) -> f64| figure.values.iter().copied().reduce(least);
        let (ratio, interval) = match figure.to_noload {
            Some(found) => {
                let interval = format::interval(found.low, found.high, format::ratio);
                (Cell::Ratio(found.mark(), found.ratio), Cell::Figure(interval))
            }
            None if figure.load == BASELINE => (Cell::ratio(1.0), Cell::blank()),
            None => (Cell::absent(), Cell::absent()),
        };
        [
            Cell::from(&figure.command),
            Cell::from(&figure.load),
            Cell::from(&figure.name),
            Cell::from(if figure.response.more_is_better { "more" } else { "less" }),
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

#[cfg(test)]
mod tests {
    use analysis::Response;
    use analysis::responsiveness::{Claim, Ratio};

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
            response: Response { unit: unit.to_owned(), more_is_better, additive: false },
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
