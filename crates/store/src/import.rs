//! Results of other programs as observations: one file per format, and the table [`Format::ALL`].
//! A reader takes all it finds or refuses; what observations cannot express becomes a note.

mod copies;
mod csv;
mod cyclictest;
mod cyclictest_text;
pub(crate) mod folder;
mod go;
mod go_json;
mod google;
mod hyperfine;
mod interbench;
pub(crate) mod lkp;
mod measurement;
pub mod mmtests;
mod observed;
mod other_outputs;
mod perf;
mod perf_plain;
mod phoronix;
mod repeats;
mod resp1;
mod results;
mod schbench;
pub(crate) mod table;

use std::borrow::Cow;

use analysis::{Dataset, Factor, Trial};
use itertools::Itertools;
use model::Environment;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use crate::error::Refusal;

/// A format of another program.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    fits: fn(&Looks) -> bool,
    read: fn(&str, &Options) -> Imported,
}

type Imported = Result<Dataset, Refusal>;

/// A text of an unknown format, parsed if it is JSON.
struct Looks<'a> {
    text: &'a str,
    json: Option<Value>,
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

impl Format {
    pub(crate) const RESP1: Self =
        Self { name: "resp1", fits: resp1::looks_right, read: resp1::read };
    pub(crate) const CSV: Self = Self { name: "csv", fits: csv::looks_right, read: csv::read };
    /// All formats; a text has the first that matches.
    pub const ALL: [Self; 11] = [
        Self { name: "perf", fits: |it| perf::has_counts(it.text), read: perf::read },
        Self { name: "hyperfine", fits: |it| it.key("results").is_some(), read: hyperfine::read },
        Self { name: "google", fits: |it| it.key("benchmarks").is_some(), read: google::read },
        Self {
            name: "cyclictest",
            fits: |it| {
                let is_text = it.json.is_none() && cyclictest_text::looks_right(it.text);
                it.has_object("thread") || is_text
            },
            read: |text, options| match is_json(text) {
                true => cyclictest::read(text, options),
                false => cyclictest_text::read(text, options),
            },
        },
        Self {
            name: "schbench",
            fits: |it| {
                let is_json = it.has_object("int") && it.key("normal").is_some();
                is_json || it.has_line(schbench::is_heading)
            },
            read: |text, options| match is_json(text) {
                true => schbench::read(text, options),
                false => schbench::read_text(text, options),
            },
        },
        Self {
            name: "interbench",
            fits: |it| it.has_line(interbench::is_heading),
            read: interbench::read,
        },
        Self {
            name: "lkp",
            fits: |it| it.json.as_ref().is_some_and(lkp::looks_right),
            read: lkp::read,
        },
        Self { name: "phoronix", fits: |it| phoronix::looks_right(it.text), read: phoronix::read },
        Self { name: "go", fits: |it| it.has_line(go::is_result), read: go::read },
        Self::RESP1,
        Self::CSV,
    ];

    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name == name)
    }

    /// The format that a text looks like: CSV for a comma in the first line. Fails for unknown
    /// ones.
    pub fn guess(text: &str) -> Result<Self, Refusal> {
        let plain = plain(text);
        let text = plain.trim_start_matches('\u{feff}');
        // JSON lines are not one JSON value.
        let is_json = is_json(text) && !perf::has_counts(text);
        let json: Option<Value> = is_json.then(|| json(text)).transpose()?;
        if let Some(Value::Array(list)) = &json {
            return Err(Refusal::whole(other_outputs::of_list(list.first())));
        }
        let looks = Looks { text, json };
        if let Some(advice) = other_outputs::advice(text).filter(|_| looks.json.is_none()) {
            let is_read = Self::ALL[..Self::ALL.len() - 1].iter().any(|it| (it.fits)(&looks));
            if !is_read {
                return Err(Refusal::whole(advice));
            }
        }
        let found = Self::ALL.into_iter().find(|format| (format.fits)(&looks));
        found.ok_or_else(|| {
            Refusal::whole(match looks.json {
                Some(_) => {
                    "JSON with neither \"results\" (hyperfine), \"benchmarks\" (Google Benchmark), \
                     \"thread\" (cyclictest), \"int\" (schbench), \"counter-value\" (perf) nor \
                     \"program.key\" (lkp-tests)"
                }
                None => {
                    "neither resp1 output nor a result of hyperfine, Go, Google Benchmark, \
                     cyclictest, schbench, interbench, lkp-tests, Phoronix, perf stat or CSV: name \
                     it with --input-format"
                }
            })
        })
    }
}

/// Reads a text of this origin as observations. Fails on other formats, with the line if known.
pub fn dataset(name: &str, text: &str, format: Option<Format>, options: &Options) -> Imported {
    let plain = plain(text);
    let text = plain.as_ref();
    let format = format.map_or_else(|| Format::guess(text), Ok)?;
    let mut set = (format.read)(text.trim_start_matches('\u{feff}'), options)?;
    if !is_json(text) && text.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
        set.notes.push(
            "it ends within a number or without a line end: its last value may be cut".to_owned(),
        );
    }
    Ok(Dataset { name: name.to_owned(), ..set })
}

/// What a program printed, without the events in which another one packed it.
fn plain(text: &str) -> Cow<'_, str> {
    go_json::output(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

impl Looks<'_> {
    fn key(&self, key: &str) -> Option<&Value> {
        self.json.as_ref()?.get(key)
    }

    fn has_object(&self, key: &str) -> bool {
        self.key(key).is_some_and(Value::is_object)
    }

    /// Whether a line of a text that is not JSON satisfies `is`.
    fn has_line(&self, is: impl Fn(&str) -> bool) -> bool {
        self.json.is_none() && self.text.lines().any(is)
    }
}

/// Whether a text is JSON, or is damaged JSON.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn json<T: DeserializeOwned>(text: &str) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(|error| Refusal::cell(error.line(), error.column(), &error))
}

/// The most items of a list in a note.
const MOST_LISTED: usize = 10;

/// A list for a note, cut with a count.
fn listed<T: std::fmt::Display>(items: &[T]) -> String {
    let first = items.iter().take(MOST_LISTED).join(", ");
    match items.len().checked_sub(MOST_LISTED) {
        None | Some(0) => first,
        Some(more) => format!("{first} and {more} more"),
    }
}

fn fact(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn varied<'a>(factors: impl IntoIterator<Item = &'a str>) -> Dataset {
    let factor = |name: &str| Factor { name: name.to_owned(), levels: Vec::new() };
    Dataset { factors: factors.into_iter().map(factor).collect(), ..Dataset::default() }
}

/// Adds a trial with its levels; new levels are appended to their factors.
fn add<'a>(
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

fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, Option<String>)>) -> Environment {
    facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}

/// The measure, which compared trials must share.
fn measure(name: &str) -> Environment {
    Environment::from([("measure".to_owned(), name.to_owned())])
}

fn unix_ns(time: jiff::Timestamp) -> Option<u64> {
    u64::try_from(time.as_nanosecond()).ok()
}
