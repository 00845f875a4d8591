//! Figures that the user's commands print: their medians under each load, and ratios.

use std::collections::BTreeMap;

use itertools::Itertools;
use model::{BASELINE, Observation, Run, WorkRecord};
use serde::Serialize;

use crate::Response;
use crate::repetitions::{Repetitions, units};
use crate::responsiveness::{Ratio, Units};

/// Figures below this would be rounded up to it in ratios.
const LEAST: f64 = 1e-9;

/// A figure that a command prints, under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrintedFigure {
    /// The command's name.
    pub command: String,
    /// The load.
    pub load: String,
    /// The figure's name.
    pub name: String,
    /// Its unit, and whether more is better.
    pub response: Response,
    /// Its values in the counted repetitions, in time order.
    pub values: Vec<f64>,
    /// Their median.
    pub median: f64,
    /// Ratio to the same command without load.
    pub to_noload: Option<Ratio>,
    /// Ratio to the first command under the same load.
    pub to_first: Option<Ratio>,
}

/// What repetitions of one command in several runs printed.
pub(crate) fn printed(
    (command, load): (&str, &str),
    runs: &[(&Run, &Repetitions<'_>)],
) -> Vec<(PrintedFigure, Units)> {
    let counted = || runs.iter().flat_map(|(_, own)| own.counted.iter().copied());
    let names = counted().flat_map(|work| work.figures.keys()).unique().sorted();
    let made = names.filter_map(|name| {
        let value = |work: &WorkRecord| work.figures.get(name).copied();
        let values: Vec<f64> = counted().filter_map(value).collect();
        let scaled = |work: &WorkRecord| Some(Observation::exact(value(work)? / LEAST));
        let figure = PrintedFigure {
            command: command.to_owned(),
            load: load.to_owned(),
            name: name.clone(),
            response: Response::of_figure(name),
            median: stats::median(&values)?,
            values,
            to_noload: None,
            to_first: None,
        };
        Some((figure, units(runs, scaled)))
    });
    made.collect()
}

/// Ratios of each figure to that without load, and to that of the `first` command under its load.
pub(crate) fn with_figure_ratios(
    all: Vec<(PrintedFigure, Units)>,
    first: &str,
) -> Vec<PrintedFigure> {
    let by_key: BTreeMap<(&str, &str, &str), &Units> = all
        .iter()
        .map(|(it, units)| ((it.command.as_str(), it.load.as_str(), it.name.as_str()), units))
        .collect();
    let ratio = |(figure, units): &(PrintedFigure, Units), command: &str, load: &str| {
        let is_itself = (figure.command.as_str(), figure.load.as_str()) == (command, load);
        let other = by_key.get(&(command, load, figure.name.as_str())).filter(|_| !is_itself)?;
        units.repeated_ratio_to(other)
    };
    let with_ratios = |pair: &(PrintedFigure, Units)| PrintedFigure {
        to_noload: ratio(pair, &pair.0.command, BASELINE),
        to_first: ratio(pair, first, &pair.0.load),
        ..pair.0.clone()
    };
    all.iter().map(with_ratios).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_compared_with_that_without_load_and_of_the_first_command() {
        let work = |value: f64| WorkRecord {
            figures: [("tps_per_s".to_owned(), value)].into(),
            ..WorkRecord::default()
        };
        let run =
            Run { header: Some(crate::repetitions::tests::header("x", 0, 0)), ..Run::default() };
        let of = |command: &str, load: &str, center: f64| {
            let works: Vec<WorkRecord> =
                (0..8).map(|index| work(center * (1.0 + 0.01 * f64::from(index % 3)))).collect();
            let counted = works.iter().collect();
            let own = Repetitions { cold: Vec::new(), counted, failed: Vec::new() };
            printed((command, load), &[(&run, &own)])
        };
        let all = [of("a", BASELINE, 0.5), of("a", "cpuload", 0.25), of("b", BASELINE, 1.0)];
        let all = with_figure_ratios(all.into_iter().flatten().collect(), "a");
        let [quiet, loaded, other] = &all[..] else { panic!("{all:?}") };
        assert_eq!((quiet.to_noload, quiet.to_first), (None, None));
        assert!(quiet.response.more_is_better() && quiet.response.unit == "/s");
        let ratio = loaded.to_noload.unwrap();
        assert!(ratio.low < 0.5 && ratio.high > 0.495 && ratio.high < 0.55, "{ratio:?}");
        assert!(other.to_first.unwrap().low > 1.8 && other.to_noload.is_none());
    }
}
