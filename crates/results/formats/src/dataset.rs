//! What readers of formats share: the text they look at, the options, and building observations.

use analysis::{Dataset, Factor, Trial};
pub use curves::Refusal;
use model::Environment;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) type Imported = Result<Dataset, Refusal>;

/// A text of an unknown format, parsed if it is JSON.
pub(crate) struct Looks<'a> {
    pub(crate) text: &'a str,
    pub(crate) json: Option<Value>,
}

/// Choices that a reader cannot infer from the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// CSV columns that were measured although their names have no unit, or keys of lkp-tests.
    pub responses: Vec<String>,
    /// CSV columns that were varied although their names have a unit.
    pub factors: Vec<String>,
    /// Accept CSV trials that repeat another value for value.
    pub allow_repeats: bool,
}

impl Looks<'_> {
    pub(crate) fn key(&self, key: &str) -> Option<&Value> {
        self.json.as_ref()?.get(key)
    }

    pub(crate) fn has_object(&self, key: &str) -> bool {
        self.key(key).is_some_and(Value::is_object)
    }

    /// Whether a line of a text that is not JSON satisfies `is`.
    pub(crate) fn has_line(&self, is: impl Fn(&str) -> bool) -> bool {
        self.json.is_none() && self.text.lines().any(is)
    }
}

/// Whether a text is JSON, or is damaged JSON.
pub(crate) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

pub(crate) fn json<T: DeserializeOwned>(text: &str) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(|error| Refusal::cell(error.line(), error.column(), &error))
}

pub(crate) fn fact(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(crate) fn varied<'a>(factors: impl IntoIterator<Item = &'a str>) -> Dataset {
    let factor = |name: &str| Factor { name: name.to_owned(), levels: Vec::new() };
    Dataset { factors: factors.into_iter().map(factor).collect(), ..Dataset::default() }
}

/// Adds a trial with its levels; new levels are appended to their factors.
pub(crate) fn add<'a>(
    set: &mut Dataset,
    name: String,
    levels: impl IntoIterator<Item = (&'a str, String)>,
) -> &mut Trial {
    let levels = levels.into_iter().map(|(factor, level)| (factor.to_owned(), level)).collect();
    let trial = Trial { name, levels, ..Trial::default() };
    for factor in &mut set.factors {
        let level = trial.levels.get(&factor.name);
        factor.levels.extend(level.filter(|it| !factor.levels.contains(it)).cloned());
    }
    set.trials.push(trial);
    let last = set.trials.len() - 1;
    &mut set.trials[last]
}

pub(crate) fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, Option<String>)>) -> Environment {
    facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}

/// The measure, which compared trials must share.
pub(crate) fn measure(name: &str) -> Environment {
    Environment::from([("measure".to_owned(), name.to_owned())])
}

pub(crate) fn unix_ns(time: jiff::Timestamp) -> Option<u64> {
    u64::try_from(time.as_nanosecond()).ok()
}
