//! Results of other programs as observations.
//!
//! A reader of a format takes everything that it finds or refuses: what a format has and
//! observations have not is told in the notes of the result.

pub mod csv;
pub mod cyclictest;
pub mod folder;
pub mod go;
pub mod google;
pub mod hyperfine;
pub mod interbench;
pub mod perf;
mod repeats;
pub mod resp1;
mod row;
pub mod schbench;

use std::fmt;

use analysis::{Dataset, Values};

/// A text that was not taken, with where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// Number of the line, from 1; `None` if it is about the text as a whole.
    pub line: Option<usize>,
    /// The column: its number, from 1, and its name if it has one.
    pub column: Option<String>,
    /// What is wrong, and the next step.
    pub reason: String,
}

impl Refusal {
    pub(crate) fn whole(reason: impl Into<String>) -> Self {
        Self { line: None, column: None, reason: reason.into() }
    }

    pub(crate) fn line(line: usize, reason: impl Into<String>) -> Self {
        Self { line: Some(line), column: None, reason: reason.into() }
    }

    pub(crate) fn cell(line: usize, column: String, reason: impl Into<String>) -> Self {
        Self { line: Some(line), column: Some(column), reason: reason.into() }
    }

    /// What the JSON parser refused.
    fn json(error: &serde_json::Error) -> Self {
        Self {
            line: Some(error.line()),
            column: Some(error.column().to_string()),
            reason: error.to_string(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match (self.line, &self.column) {
            (Some(line), Some(column)) => write!(formatter, "line {line}, column {column}: ")?,
            (Some(line), None) => write!(formatter, "line {line}: ")?,
            (None, _) => {}
        }
        formatter.write_str(&self.reason)
    }
}

/// A format of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a heading row.
    Csv,
    /// The JSON that `hyperfine --export-json` writes.
    Hyperfine,
    /// What `go test -bench` prints.
    Go,
    /// The JSON of Google Benchmark.
    Google,
    /// What resp1 printed.
    Resp1,
    /// The JSON of cyclictest and other rt-tests.
    Cyclictest,
    /// The JSON of schbench.
    Schbench,
    /// What interbench printed or logged.
    Interbench,
    /// The JSON lines of `perf stat -j`.
    Perf,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Resp1,
        Self::Hyperfine,
        Self::Go,
        Self::Google,
        Self::Cyclictest,
        Self::Schbench,
        Self::Interbench,
        Self::Perf,
        Self::Csv,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Hyperfine => "hyperfine",
            Self::Go => "go",
            Self::Google => "google",
            Self::Resp1 => "resp1",
            Self::Cyclictest => "cyclictest",
            Self::Schbench => "schbench",
            Self::Interbench => "interbench",
            Self::Perf => "perf",
        }
    }

    /// The format that a text looks like. Every text without another mark and with a comma in its
    /// first line is CSV.
    ///
    /// # Errors
    /// When it looks like none.
    pub fn of(text: &str) -> Result<Self, Refusal> {
        let text = text.trim_start_matches('\u{feff}');
        if text.lines().any(perf::is_count) {
            return Ok(Self::Perf);
        }
        if text.trim_start().starts_with('{') {
            return Self::of_json(text);
        }
        if interbench::is_output(text) {
            return Ok(Self::Interbench);
        }
        if text.lines().any(go::is_result) {
            return Ok(Self::Go);
        }
        if crate::resp1::parse(text).is_ok() {
            return Ok(Self::Resp1);
        }
        let heading = text.lines().next().unwrap_or_default();
        if heading.contains(',') {
            return Ok(Self::Csv);
        }
        // A damaged output of resp1 is told what is wrong with it.
        if heading.starts_with("Starting ") || text.contains("delay ms") {
            return Ok(Self::Resp1);
        }
        Err(Refusal::whole(
            "neither resp1 output, Go benchmark lines, output of interbench, CSV with a heading \
             row nor JSON of hyperfine, Google Benchmark, cyclictest, schbench or perf stat: say \
             which with --from",
        ))
    }

    fn of_json(text: &str) -> Result<Self, Refusal> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| Refusal::json(&error))?;
        if value.get("results").is_some() {
            return Ok(Self::Hyperfine);
        }
        if value.get("benchmarks").is_some() {
            return Ok(Self::Google);
        }
        if cyclictest::is_output(&value) {
            return Ok(Self::Cyclictest);
        }
        if schbench::is_output(&value) {
            return Ok(Self::Schbench);
        }
        Err(Refusal::whole(
            "JSON with neither \"results\" (hyperfine), \"benchmarks\" (Google Benchmark), \
             \"thread\" (cyclictest), \"int\" (schbench) nor \"counter-value\" (perf stat)",
        ))
    }
}

/// A response with a single figure, of a part or of the whole.
fn figure(part: Option<String>, response: &str, value: f64) -> Values {
    Values::exact(part, response, &[value])
}

/// What a reader cannot know from the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Columns of a CSV that were measured although no unit ends their names.
    pub responses: Vec<String>,
    /// Columns of a CSV that were varied although a unit ends their names.
    pub factors: Vec<String>,
    /// Take trials of a CSV that repeat another one value for value.
    pub allow_repeats: bool,
}

/// Reads a text as observations; `name` is where it comes from, `format` what it is if that is
/// known.
///
/// # Errors
/// When it is not of that format, or of none; with the line where there is one.
pub fn dataset(
    name: &str,
    text: &str,
    format: Option<Format>,
    options: &Options,
) -> Result<Dataset, Refusal> {
    let format = match format {
        Some(format) => format,
        None => Format::of(text)?,
    };
    match format {
        Format::Csv => csv::dataset(name, text, options),
        Format::Hyperfine => hyperfine::dataset(name, text),
        Format::Go => go::dataset(name, text),
        Format::Google => google::dataset(name, text),
        Format::Resp1 => resp1::dataset(name, text),
        Format::Cyclictest => cyclictest::dataset(name, text),
        Format::Schbench => schbench::dataset(name, text),
        Format::Interbench => interbench::dataset(name, text),
        Format::Perf => perf::dataset(name, text),
    }
}
