//! What a figure of another program means, before it is compared with anything.
//!
//! A [`ForeignMeasurement`] belongs to a [`ForeignTrial`]; together they have the five things that
//! a comparison needs: **identity** (all that names the work, and the response), **unit**,
//! **direction**, **outcome** (values, a failure, or that it was skipped) and **session** (rows of
//! one file are repetitions within one). Readers build these values and nothing else;
//! [`crate::results::ForeignResults::finish`] alone makes observations of them. So names do not
//! depend on the order of a file, on what failed or on what else is in it, and units of one
//! dimension are one.

use std::collections::BTreeMap;

use analysis::Direction;
use model::{Environment, Observation};

/// The session of all trials of a file that says nothing else.
pub(super) const FILE_SESSION: &str = "the file";
/// The name of a trial that is all that its file has.
pub(super) const WHOLE_FILE: &str = "the whole file";

/// A response of a trial.
#[derive(Clone, Debug)]
pub(super) struct ForeignMeasurement {
    /// The name of what was measured.
    pub(super) response: String,
    /// The part of the trial; `None` for the whole.
    pub(super) part: Option<String>,
    /// The unit in which the program writes the values.
    pub(super) unit: String,
    /// Which way is better, if the file or a table shows it.
    pub(super) direction: Direction,
    /// Whether parts add up to the whole.
    pub(super) additive: bool,
    /// The values, or why there are none.
    pub(super) outcome: MeasurementOutcome,
}

/// What became of a measurement.
#[derive(Clone, Debug)]
pub(super) enum MeasurementOutcome {
    /// The values in order.
    Values(Vec<Observation>),
    /// It was attempted without a result: why.
    Failed(String),
}

/// How a trial of another program ended.
#[derive(Clone, Debug, Default)]
pub(super) enum TrialOutcome {
    /// Its values count.
    #[default]
    Completed,
    /// It failed, with the cause; its values do not count.
    Failed(String),
    /// It did not run, with the reason.
    Skipped(String),
}

/// A row, run or repetition of another program.
#[derive(Clone, Debug, Default)]
pub(super) struct ForeignTrial {
    /// Its position in the file.
    pub(super) name: String,
    /// All that names its work.
    pub(super) identity: BTreeMap<String, String>,
    /// Its block, if it has one.
    pub(super) block: Option<u64>,
    /// Its seed, if it has one.
    pub(super) seed: Option<u64>,
    /// Its session; `None` if it is one of its own.
    pub(super) session: Option<String>,
    /// Whether it only has means of other trials.
    pub(super) is_summary: bool,
    /// How it ended.
    pub(super) outcome: TrialOutcome,
    /// What it measured.
    pub(super) measurements: Vec<ForeignMeasurement>,
    /// Facts of the system.
    pub(super) environment: Environment,
    /// What compared trials must share.
    pub(super) meaning: BTreeMap<String, String>,
    /// When it began.
    pub(super) started_unix_ns: Option<u64>,
    /// Doubts about its values.
    pub(super) problem: Option<String>,
}

impl ForeignMeasurement {
    /// One exact figure.
    pub(super) fn figure(
        response: impl Into<String>,
        unit: &str,
        direction: Direction,
        value: f64,
    ) -> Self {
        Self::values(response, unit, direction, vec![Observation::exact(value)])
    }

    /// Several values.
    pub(super) fn values(
        response: impl Into<String>,
        unit: &str,
        direction: Direction,
        values: Vec<Observation>,
    ) -> Self {
        let outcome = MeasurementOutcome::Values(values);
        Self::new(response, unit, direction, outcome)
    }

    /// A response without a result.
    pub(super) fn failed(
        response: impl Into<String>,
        unit: &str,
        direction: Direction,
        why: impl Into<String>,
    ) -> Self {
        Self::new(response, unit, direction, MeasurementOutcome::Failed(why.into()))
    }

    fn new(
        response: impl Into<String>,
        unit: &str,
        direction: Direction,
        outcome: MeasurementOutcome,
    ) -> Self {
        let (response, unit) = (response.into(), unit.to_owned());
        Self { response, part: None, unit, direction, additive: false, outcome }
    }
}

impl ForeignTrial {
    /// A trial of the file's session.
    pub(super) fn of_file<'a>(
        name: impl Into<String>,
        identity: impl IntoIterator<Item = (&'a str, String)>,
        measurements: Vec<ForeignMeasurement>,
    ) -> Self {
        let identity = identity.into_iter().map(|(name, level)| (name.to_owned(), level)).collect();
        let (name, session) = (name.into(), Some(FILE_SESSION.to_owned()));
        Self { name, identity, session, measurements, ..Self::default() }
    }
}
