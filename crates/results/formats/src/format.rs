//! The formats that are read, and the table [`Format::ALL`]. A reader takes all it finds or refuses;
//! what observations cannot express becomes a note.

use std::borrow::Cow;

use analysis::Dataset;
use serde_json::Value;

use crate::dataset::{Imported, Looks, Options, Refusal, is_json, json};
use crate::{
    csv, cyclictest, cyclictest_text, go, google, hyperfine, interbench, lkp, other_outputs, perf,
    phoronix, resp1, schbench,
};

/// A format of another program.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    fits: fn(&Looks) -> bool,
    read: fn(&str, &Options) -> Imported,
}

impl Format {
    /// The output of resp1.
    pub const RESP1: Self = Self { name: "resp1", fits: resp1::looks_right, read: resp1::read };
    /// Comma-separated values with a heading.
    pub const CSV: Self = Self { name: "csv", fits: csv::looks_right, read: csv::read };
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
    go::output(text).map_or(Cow::Borrowed(text), Cow::Owned)
}
