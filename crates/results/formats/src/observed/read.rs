//! Observations from the table that [`super::write`] writes.

use std::collections::BTreeMap;

use analysis::Direction;
use curves::Table;
use model::Observation;

use crate::dataset::{Imported, Options, Refusal};
use crate::measurement::{ForeignMeasurement, ForeignTrial, TrialOutcome};
use crate::results::ForeignResults;

/// The first columns, by which the table is known.
const FIRST: [&str; 6] = ["trial", "block", "seed", "part", "response", "unit"];
/// The other columns except the levels.
const LAST: [&str; 6] = ["value", "lower_bound", "problem", "better", "session", "outcome"];
const LEVEL: &str = "level_";
/// What names the work of all trials alike.
const IDENTITY: &str = "identity_";

/// Whether a table is of observations.
pub(crate) fn is_of_observations(table: &Table) -> bool {
    table.names.iter().map(String::as_str).take(FIRST.len()).eq(FIRST)
        && LAST.iter().all(|name| table.names.iter().any(|it| it == name))
}

/// A row by the names of its columns.
struct Row<'a> {
    line: usize,
    table: &'a Table,
    cells: &'a [String],
}

impl Row<'_> {
    /// A cell; `None` if it is empty.
    fn cell(&self, name: &str) -> Option<&str> {
        let column = self.table.names.iter().position(|it| it == name)?;
        self.cells.get(column).map(String::as_str).filter(|cell| !cell.is_empty())
    }

    /// What names the work and is not a level.
    fn identity(&self) -> impl Iterator<Item = (String, String)> {
        let names = self.table.names.iter();
        names.filter_map(|column| {
            Some((column.strip_prefix(IDENTITY)?.to_owned(), self.cell(column)?.to_owned()))
        })
    }

    /// A number. Fails for other texts.
    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Refusal> {
        let Some(cell) = self.cell(name) else { return Ok(None) };
        let refused = || Refusal::cell(self.line, name, format!("{cell:?} is not a number"));
        cell.parse().map(Some).map_err(|_| refused())
    }

    fn direction(&self) -> Result<Direction, Refusal> {
        match self.cell("better") {
            Some("less") => Ok(Direction::LessIsBetter),
            Some("more") => Ok(Direction::MoreIsBetter),
            Some("unknown") | None => Ok(Direction::Unknown),
            Some(other) => {
                let why = format!("{other:?}; known are less, more and unknown");
                Err(Refusal::cell(self.line, "better", why))
            }
        }
    }

    /// Adds what the row has to its trial.
    fn add_to(&self, trial: &mut ForeignTrial) -> Result<(), Refusal> {
        let outcome = self.cell("outcome").unwrap_or("completed");
        let (word, why) = outcome.split_once(": ").unwrap_or((outcome, ""));
        let (response, value) = (self.cell("response"), self.number::<f64>("value")?);
        let unit = self.cell("unit").unwrap_or_default();
        match (word, response, value) {
            ("completed" | "summary", Some(response), Some(value)) => {
                if !value.is_finite() {
                    return Err(Refusal::cell(self.line, "value", "it is not finite"));
                }
                let is_bound = self.number::<u8>("lower_bound")?.unwrap_or(0) != 0;
                let value =
                    if is_bound { Observation::at_least } else { Observation::exact }(value);
                let direction = self.direction()?;
                let one = ForeignMeasurement::values(response, unit, direction, vec![value]);
                let part = self.cell("part").map(str::to_owned);
                trial.measurements.push(ForeignMeasurement { part, ..one });
                trial.is_summary = word == "summary";
            }
            ("failed", Some(response), None) => {
                let direction = self.direction()?;
                trial.measurements.push(ForeignMeasurement::failed(response, unit, direction, why));
            }
            ("completed" | "summary", ..) => {}
            ("failed", ..) => trial.outcome = TrialOutcome::Failed(why.to_owned()),
            ("skipped" | "excluded", ..) => trial.outcome = TrialOutcome::Skipped(why.to_owned()),
            _ => {
                let why = format!(
                    "{outcome:?}; known are completed, summary, failed, skipped and excluded"
                );
                return Err(Refusal::cell(self.line, "outcome", why));
            }
        }
        Ok(())
    }
}

/// Every trial of the table is one again.
pub(crate) fn read(table: &Table, options: &Options) -> Imported {
    let levels = table.names.iter().filter_map(|name| name.strip_prefix(LEVEL));
    let mut found = ForeignResults::named_by(levels.clone());
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    for (line, cells) in &table.rows {
        let row = Row { line: *line, table, cells };
        let Some(name) = row.cell("trial") else {
            return Err(Refusal::cell(*line, "trial", "it has no name"));
        };
        let at = *positions.entry(name.to_owned()).or_insert(found.trials.len());
        if at == found.trials.len() {
            let level = |name: &str| {
                Some((name.to_owned(), row.cell(&format!("{LEVEL}{name}"))?.to_owned()))
            };
            found.trials.push(ForeignTrial {
                name: name.to_owned(),
                identity: levels.clone().filter_map(level).chain(row.identity()).collect(),
                block: row.number("block")?,
                seed: row.number("seed")?,
                session: row.cell("session").map(str::to_owned),
                ..ForeignTrial::default()
            });
        }
        row.add_to(&mut found.trials[at])?;
    }
    if found.trials.is_empty() {
        return Err(Refusal::whole("a heading row and no other: there is nothing to compare"));
    }
    // Trials have names of their own, so equal values are not copies.
    found.finish(&Options { allow_repeats: true, ..options.clone() })
}
