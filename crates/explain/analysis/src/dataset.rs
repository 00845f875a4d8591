//! Observations as comparison and attribution read them: trials and their levels.

use std::collections::BTreeMap;

use model::{EndStatus, Environment, Observation};
use serde::Serialize;
pub use stats::Factor;

use crate::explained::Explained;
use crate::{Ending, joined};

/// The factor of all runs.
pub(crate) const LOAD: &str = "load";

/// Trials from one source: a results folder, an experiment, a published table or another program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Dataset {
    /// Where they come from: a path, or `reference:NAME`.
    pub name: String,
    /// What was varied, the reference level first; of runs the load.
    pub factors: Vec<Factor>,
    /// What was measured, by name.
    pub responses: BTreeMap<String, Response>,
    /// The author's responses of interest, the main one first.
    pub wanted: Vec<String>,
    /// The responses of interest if neither the author nor the user names any, the main one first;
    /// empty if its source does not say what was measured.
    pub usual: Vec<String>,
    /// The difference that its author does not care about, as a part: 0.01 is 1 %.
    pub margin: Option<f64>,
    /// The trials, in order of time if that is known.
    pub trials: Vec<Trial>,
    /// Whether equal inputs give equal values.
    pub deterministic: bool,
    /// Damage, omissions, assumptions.
    pub notes: Vec<String>,
}

/// Something that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Response {
    /// Printed unit: `s`, `ns`, `faults`, `bytes`; empty for a bare count.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// Whether the parts of a trial add up to its whole, as CPU time and faults do.
    pub additive: bool,
}

/// Which way a response gets better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Less is better, as with a time.
    LessIsBetter,
    /// More is better, as with a throughput.
    MoreIsBetter,
    /// Neither the source nor its name shows which: a change is a difference, not a regression.
    #[default]
    Unknown,
}

impl Direction {
    /// The known direction.
    pub const fn from_more(more_is_better: bool) -> Self {
        if more_is_better { Self::MoreIsBetter } else { Self::LessIsBetter }
    }

    /// Whether more is better; `None` if unknown.
    pub fn known(self) -> Option<bool> {
        (self != Self::Unknown).then_some(self == Self::MoreIsBetter)
    }

    /// What is better, in one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::LessIsBetter => "less",
            Self::MoreIsBetter => "more",
            Self::Unknown => "unknown",
        }
    }
}

impl Response {
    /// Whether more is known to be better.
    pub fn more_is_better(&self) -> bool {
        self.direction == Direction::MoreIsBetter
    }

    /// A figure that commands print: its name ends in its unit.
    pub(crate) fn of_figure(name: &str) -> Self {
        let units = [("_ns", "ns"), ("_per_s", "/s"), ("_bytes", "bytes")];
        let unit = units.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, it)| it);
        let direction = Direction::from_more(unit == "/s");
        Self { unit: unit.to_owned(), direction, additive: false }
    }
}

/// One run, or one row of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trial {
    /// The run's name, or its position in the source.
    pub name: String,
    /// The level of each factor.
    pub levels: BTreeMap<String, String>,
    /// Everything that names the work in the source, also what is not varied there. Levels that
    /// another input varies are taken from it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub identity: BTreeMap<String, String>,
    /// The session that it belongs to, if its source has several trials in one: a file of another
    /// program. `None` for a trial that is a session of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Block; trials of one block are compared with each other.
    pub block: Option<u64>,
    /// Seed; on deterministic machines trials of one seed are compared with each other.
    pub seed: Option<u64>,
    /// When it began, in ns since 1970 UTC.
    pub started_unix_ns: Option<u64>,
    /// What was measured.
    pub values: Vec<Values>,
    /// Facts of the system under test.
    pub environment: Environment,
    /// What must match to compare trials: versions of load and measure, script.
    pub meaning: BTreeMap<String, String>,
    /// How it ended, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Whether it only has means of other trials, and did not run itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_summary: bool,
    /// Responses that it failed to measure, with the cause, if others were measured.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lost: BTreeMap<String, String>,
    /// Why it was skipped; a skipped trial did not run and has no values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Whether its file was changed after the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_altered: bool,
    /// Doubts about its values, such as an undelivered load.
    pub problem: Option<String>,
    /// The parts of its delays, or of the repetitions of its command, in their order, if known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<Explained>,
}

/// The values of one response in one trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Values {
    /// The part of the trial, such as a command; `None` = the whole.
    pub part: Option<String>,
    /// The response's name.
    pub response: String,
    /// The values in order: delays of a probe, or a single figure.
    pub samples: Vec<Observation>,
}

impl Values {
    /// Values that were all measured to their end.
    pub fn exact(part: Option<String>, response: &str, values: &[f64]) -> Self {
        let samples = values.iter().copied().map(Observation::exact).collect();
        Self { part, response: response.to_owned(), samples }
    }

    /// The median; `None` without values, and if it is a lower bound only or not finite.
    pub fn exact_median(&self) -> Option<f64> {
        let median = stats::bounded_median(&self.samples)?;
        (!median.is_lower_bound && median.value.is_finite()).then_some(median.value)
    }

    /// Number of values that are lower bounds only.
    pub fn censored(&self) -> usize {
        self.samples.iter().filter(|sample| sample.is_lower_bound).count()
    }

    /// The values, bounds included as values.
    pub fn at_bounds(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.value).collect()
    }
}

impl Dataset {
    /// The factor of this name.
    pub fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|factor| factor.name == name)
    }
}

/// How a trial counts, in comparison, attribution, sweeps and bisection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its values count.
    Counts,
    /// Failure is its result; its earlier values do not count.
    Failed,
    /// It shows nothing about the system: interrupted, or its file was changed or truncated.
    Excluded,
}

impl Trial {
    /// The values of a response, of the whole or of a part.
    pub fn samples(&self, part: Option<&str>, response: &str) -> Option<&[Observation]> {
        self.values
            .iter()
            .find(|values| values.part.as_deref() == part && values.response == response)
            .map(|values| values.samples.as_slice())
    }

    /// How the trial counts.
    pub fn standing(&self) -> Standing {
        match &self.ending {
            _ if self.is_altered || self.skipped.is_some() => Standing::Excluded,
            Some(ending) if ending.is_cut_off || ending.status == EndStatus::Interrupted => {
                Standing::Excluded
            }
            // What a timeout cut off is among the values, as lower bounds.
            Some(ending) if ending.is_failure() && ending.status != EndStatus::Timeout => {
                Standing::Failed
            }
            _ => Standing::Counts,
        }
    }

    /// Whether it failed to measure this response; `None` if it is excluded, or says nothing about
    /// it.
    pub(crate) fn lost(&self, response: &str) -> Option<bool> {
        let is_lost = self.lost.contains_key(response);
        let has_values = self.values.iter().any(|values| values.response == response);
        (self.standing() == Standing::Counts && (is_lost || has_values)).then_some(is_lost)
    }

    /// Whether the trial failed; `None` if it is excluded.
    pub fn failed(&self) -> Option<bool> {
        let is_failure = self.ending.as_ref().is_some_and(Ending::is_failure);
        (self.standing() != Standing::Excluded && !self.is_summary).then_some(is_failure)
    }

    /// How it ended, as a word of exports and perhaps a reason: `completed`, `summary`, `failed: …`,
    /// `skipped: …`, `excluded: …`.
    pub fn outcome(&self) -> String {
        if let Some(why) = &self.skipped {
            return format!("skipped: {why}");
        }
        match self.standing() {
            Standing::Counts if self.is_summary => "summary".to_owned(),
            Standing::Counts => "completed".to_owned(),
            Standing::Failed => {
                let ending = self.ending.as_ref();
                let of_program = ending.filter(|it| it.status == EndStatus::Failed);
                let cause = of_program.and_then(|it| it.cause.clone());
                let cause = cause.or_else(|| ending.and_then(Ending::text));
                format!("failed: {}", cause.unwrap_or_default())
            }
            Standing::Excluded => format!("excluded: {}", self.remark().unwrap_or_default()),
        }
    }

    /// How it ended, unless complete, and other doubts about it.
    pub fn remark(&self) -> Option<String> {
        let altered = self.is_altered.then(|| "the file was changed after the run".to_owned());
        let ending = self.ending.as_ref().and_then(Ending::text);
        let skipped = self.skipped.as_ref().map(|why| format!("not measured: {why}"));
        let lost = self.lost.iter().map(|(response, why)| format!("{response} failed: {why}"));
        let all = ending.into_iter().chain(skipped).chain(lost).chain(altered);
        joined(all.chain(self.problem.clone()))
    }
}
