//! The Go benchmark format of `go test -bench` and others
//! (<https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md>, and for
//! `Unit` lines <https://pkg.go.dev/golang.org/x/perf/benchfmt>).
//!
//! A result is `BenchmarkName-8 iterations value unit [value unit …]`; `key: value` lines describe
//! the results below them, and name their work as well. Other lines are noise by definition, and
//! counted in the notes. A row that a log line broke into two is not repaired but named.

use std::collections::{BTreeMap, BTreeSet};

use analysis::quantity::{Quantity, scaled};
use analysis::{Direction, listed};
use model::Environment;

use crate::dataset::{Imported, Options, Refusal};
use crate::measurement::{ForeignMeasurement, ForeignTrial, TrialOutcome};
use crate::results::ForeignResults;

const BENCHMARK: &str = "benchmark";
/// CPUs used, the number at the end of a name; a factor where it varies.
const PROCS: &str = "procs";
const PREFIX: &str = "Benchmark";
const OF_GO_TEST: [&str; 2] = ["PASS", "ok"];
/// Most words before the timestamp of a line in the log of a CI system.
const MOST_PREFIX_WORDS: usize = 8;
const LENGTH_OF_TIME: usize = 19;
/// Comments in exports of thrashlab: the levels in names, the session of the lines below, and a
/// response that failed.
const LEVELS: &str = "# thrashlab-levels:";
const SESSION: &str = "# thrashlab-session:";
const LOST: &str = "# thrashlab-failed:";
/// Lines of `go test` on a benchmark without a result, and how it ended.
const FAILED: &str = "--- FAIL:";
const SKIPPED: &str = "--- SKIP:";
/// What `go test` ends with when anything failed.
const ALL_FAILED: &str = "FAIL";

/// Whether a line is a result: name, count, and at least one value with a unit.
pub(crate) fn is_result(line: &str) -> bool {
    let mut words = without_log_prefix(line).split_whitespace();
    words.next().is_some_and(|name| name.starts_with(PREFIX))
        && words.next().is_some_and(|count| count.parse::<u64>().is_ok())
        && words.next().is_some_and(|value| value.parse::<f64>().is_ok())
        && words.next().is_some()
}

/// A line without what a CI system writes before it: names of steps and a timestamp.
fn without_log_prefix(line: &str) -> &str {
    if line.starts_with(PREFIX) {
        return line;
    }
    let mut words = line.split(' ').flat_map(|word| word.split('\t')).take(MOST_PREFIX_WORDS);
    match words.find(|word| is_timestamp(word)) {
        // The word is a part of the line.
        Some(word) => line.split_once(word).map_or(line, |(_, rest)| rest.trim_start()),
        None => line,
    }
}

/// Whether a word is a time such as `2026-11-22T10:00:00.5Z`.
fn is_timestamp(word: &str) -> bool {
    let shape = word.bytes().take(LENGTH_OF_TIME).map(|byte| match byte {
        byte if byte.is_ascii_digit() => b'0',
        other => other,
    });
    shape.eq(*b"0000-00-00T00:00:00")
}

#[derive(Default)]
struct Reader {
    /// Configuration above the current line.
    configuration: Environment,
    /// Directions by unit, and their lines.
    directions: BTreeMap<String, (Direction, usize)>,
    trials: Vec<ForeignTrial>,
    /// The session that an export of thrashlab states.
    session: Option<String>,
    /// The levels that names of an export of thrashlab have, in percent-encoding.
    levels: Option<Vec<String>>,
    broken: Vec<String>,
    others: Vec<usize>,
    reports_failure: bool,
}

pub(crate) fn read(text: &str, options: &Options) -> Imported {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        reader.push(index + 1, without_log_prefix(line))?;
    }
    reader.finish(options)
}

impl Reader {
    fn push(&mut self, number: usize, line: &str) -> Result<(), Refusal> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first() else { return Ok(()) };
        if first.starts_with(PREFIX) {
            if words.len() > 1 {
                self.push_row(number, &words);
            }
        } else if *first == "Unit" && words.len() > 1 {
            return self.push_unit(number, &words[1..]);
        } else if let Some((outcome, name)) = ending(line) {
            self.push_trial(number, name, Vec::new(), outcome);
        } else if let Some(levels) = line.strip_prefix(LEVELS) {
            self.levels = Some(levels.split_whitespace().map(decoded).collect());
        } else if let Some(session) = line.strip_prefix(SESSION) {
            self.session = Some(session.trim().to_owned());
        } else if let Some(lost) = line.strip_prefix(LOST) {
            self.push_lost(number, lost);
        } else if let Some((key, value)) = configuration(line) {
            // As in run files.
            let fact = if key == "cpu" { "cpu_model" } else { key };
            match value.is_empty() {
                true => drop(self.configuration.remove(fact)),
                false => drop(self.configuration.insert(fact.to_owned(), value.to_owned())),
            }
        } else if *first == ALL_FAILED {
            self.reports_failure = true;
        } else if !OF_GO_TEST.contains(first) && !line.trim_start().starts_with('#') {
            self.others.push(number);
        }
        Ok(())
    }

    /// Adds a result; what is none is counted as a broken row.
    fn push_row(&mut self, number: usize, words: &[&str]) {
        match measurements(words) {
            Ok(measurements) => {
                self.push_trial(number, words[0], measurements, TrialOutcome::Completed);
            }
            Err(why) => self.broken.push(format!("line {number} ({}: {why})", words[0])),
        }
    }

    fn push_trial(
        &mut self,
        number: usize,
        name: &str,
        measurements: Vec<ForeignMeasurement>,
        outcome: TrialOutcome,
    ) {
        let name = name.trim_start_matches(PREFIX);
        let procs = name.rsplit_once('-').filter(|(_, procs)| procs.parse::<u32>().is_ok());
        let (benchmark, procs) = procs.unwrap_or((name, "1"));
        let mut part = None;
        let mut levels = vec![(PROCS.to_owned(), procs.to_owned())];
        let benchmark = match &self.levels {
            None => benchmark.to_owned(),
            Some(names) => without_levels(benchmark, names, &mut levels, &mut part),
        };
        levels.push((BENCHMARK.to_owned(), benchmark));
        let identity = levels.iter().map(|(name, level)| (name.as_str(), level.clone()));
        let measurements = measurements
            .into_iter()
            .map(|one| ForeignMeasurement { part: part.clone(), ..one })
            .collect();
        let mut trial = ForeignTrial::of_file(format!("line {number}"), identity, measurements);
        if let Some(session) = &self.session {
            trial.session = Some(session.clone());
        }
        trial.identity.extend(self.configuration.clone());
        trial.environment = self.configuration.clone();
        trial.outcome = outcome;
        self.trials.push(trial);
    }

    /// Reads `UNIT NAME reason` of a response that failed.
    fn push_lost(&mut self, number: usize, text: &str) {
        let mut words = text.split_whitespace();
        if let (Some(unit), Some(name)) = (words.next(), words.next()) {
            let why = words.collect::<Vec<_>>().join(" ");
            let one = ForeignMeasurement::failed(unit, unit, Direction::Unknown, why);
            self.push_trial(number, name, vec![one], TrialOutcome::Completed);
        }
    }

    /// Reads `Unit NAME key=value …`, which is about the whole file.
    fn push_unit(&mut self, number: usize, words: &[&str]) -> Result<(), Refusal> {
        let unit = canonical(words[0]).0;
        for word in &words[1..] {
            let direction = match word.split_once('=') {
                Some(("better", "higher")) => Direction::MoreIsBetter,
                Some(("better", "lower")) => Direction::LessIsBetter,
                Some(("better", other)) => {
                    let why = format!("better is {other:?}; known are higher and lower");
                    return Err(Refusal::line(number, why));
                }
                _ => continue,
            };
            let (known, line) = *self.directions.entry(unit.clone()).or_insert((direction, number));
            if known != direction {
                let why = format!("{word} of {unit} contradicts line {line}");
                return Err(Refusal::line(number, why));
            }
        }
        Ok(())
    }

    fn finish(mut self, options: &Options) -> Imported {
        let is_measured = |trial: &ForeignTrial| !trial.measurements.is_empty();
        if !self.trials.iter().any(is_measured) {
            return Err(match self.broken.first() {
                Some(broken) => Refusal::whole(format!(
                    "no line \"BenchmarkName count value unit\"; the first broken row is {broken}"
                )),
                None => Refusal::whole("no line \"BenchmarkName count value unit\""),
            });
        }
        for one in self.trials.iter_mut().flat_map(|trial| &mut trial.measurements) {
            let stated = self.directions.get(&one.response).map(|(direction, _)| *direction);
            one.direction = stated.unwrap_or_else(|| direction(&one.response));
        }
        let procs: BTreeSet<String> =
            self.trials.iter().filter_map(|trial| trial.identity.get(PROCS).cloned()).collect();
        if procs.len() == 1 {
            self.trials.iter_mut().for_each(|trial| {
                trial.environment.extend(procs.first().map(|it| (PROCS.to_owned(), it.clone())));
            });
        }
        let mut found = ForeignResults::named_by([BENCHMARK]);
        found.notes = self.notes();
        found.trials = self.trials;
        found.finish(options)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "lines of one process unless several outputs were joined: variation between processes \
             may be unknown"
                .to_owned(),
        ];
        if !self.broken.is_empty() {
            let count = self.broken.len();
            let rows = if count == 1 { "row" } else { "rows" };
            notes.push(format!("{count} broken {rows} left out: {}", listed(&self.broken)));
        }
        if !self.others.is_empty() {
            notes.push(format!("no results and not read: lines {}", listed(&self.others)));
        }
        if self.reports_failure {
            notes.push(
                "it reports FAIL: results that would have followed may be missing".to_owned(),
            );
        }
        notes
    }
}

/// The benchmark of a line on its end without a result.
fn ending(line: &str) -> Option<(TrialOutcome, &str)> {
    let line = line.trim();
    let named = |text: &'_ str| text.split_whitespace().next().map(str::len);
    for (prefix, is_failure) in [(FAILED, true), (SKIPPED, false)] {
        let Some(rest) = line.strip_prefix(prefix).map(str::trim_start) else { continue };
        let name = &rest[..named(rest)?];
        let benchmark = name.strip_prefix(PREFIX)?;
        // What go test appends is the time that it took, in parentheses.
        let why = rest[name.len()..].trim();
        let has_reason = !why.is_empty() && !why.starts_with('(');
        let outcome = match (is_failure, has_reason) {
            (true, true) => TrialOutcome::Failed(why.to_owned()),
            (true, false) => TrialOutcome::Failed(format!("go test reports FAIL of {benchmark}")),
            (false, true) => TrialOutcome::Skipped(why.to_owned()),
            (false, false) => TrialOutcome::Skipped(format!("{benchmark} was skipped")),
        };
        return Some((outcome, name));
    }
    None
}

/// The benchmark of a name in an export of thrashlab; its parts `/factor=level` of these factors
/// are levels, or the part of a trial.
fn without_levels(
    name: &str,
    names: &[String],
    levels: &mut Vec<(String, String)>,
    part: &mut Option<String>,
) -> String {
    let mut benchmark = Vec::new();
    for piece in name.split('/') {
        match piece.split_once('=') {
            Some(("part", level)) => *part = Some(decoded(level)),
            Some((factor, level)) if names.contains(&decoded(factor)) => {
                levels.push((decoded(factor), decoded(level)));
            }
            _ => benchmark.push(decoded(piece)),
        }
    }
    benchmark.join("/")
}

/// A text without percent-encoding; what is none stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn configuration(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let fits = key.starts_with(char::is_lowercase)
        && !key.chars().any(|c| c.is_whitespace() || c.is_uppercase());
    fits.then_some((key, value.trim()))
}

/// The figures of a row, or why it is none.
fn measurements(words: &[&str]) -> Result<Vec<ForeignMeasurement>, String> {
    let Some(count) = words.get(1).filter(|count| count.parse::<u64>().is_err()) else {
        return pairs(&words[2..]);
    };
    Err(format!("{count:?} is not a count of iterations"))
}

fn pairs(words: &[&str]) -> Result<Vec<ForeignMeasurement>, String> {
    let mut found: Vec<ForeignMeasurement> = Vec::new();
    for pair in words.chunks(2) {
        let [value, unit] = pair else { return Err(format!("{:?} has no unit after it", pair[0])) };
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| format!("{value:?} is not a number"))?;
        // Responses are named by their units.
        let (unit, factor) = canonical(unit);
        if found.iter().any(|known| known.response == unit) {
            return Err(format!("two values in {unit}"));
        }
        let value = scaled(number, factor);
        found.push(ForeignMeasurement::figure(unit.clone(), &unit, Direction::Unknown, value));
    }
    if found.is_empty() { Err("it has no value".to_owned()) } else { Ok(found) }
}

/// The usual spelling of a unit, and its factor: `ms/op` is `ns/op`, and `p99-us/op` is `p99-ns/op`.
fn canonical(unit: &str) -> (String, f64) {
    let above = unit.split_once('/').map_or(unit, |(above, _)| above);
    let start = above.rfind('-').map_or(0, |dash| dash + 1);
    let (prefix, rest) = unit.split_at(start);
    let quantity = Quantity::of_unit(rest);
    let usual = quantity.usual_unit().and_then(|usual| {
        let factor = quantity.in_units_of(&Quantity::of_unit(&usual))?;
        Some((format!("{prefix}{usual}"), factor))
    });
    usual.filter(|(_, factor)| *factor != 1.0).unwrap_or_else(|| (unit.to_owned(), 1.0))
}

/// The direction of a unit that Go's tools know, or that is a time or a rate.
fn direction(unit: &str) -> Direction {
    let above = unit.split_once('/').map_or(unit, |(above, _)| above);
    let last = above.rsplit('-').next().unwrap_or(above);
    match unit {
        "B/op" | "allocs/op" => Direction::LessIsBetter,
        _ if Quantity::of_unit(last).dimension == "time" => Direction::LessIsBetter,
        _ if unit.ends_with("/s") => Direction::MoreIsBetter,
        _ if last == "bytes" => Direction::LessIsBetter,
        _ => Direction::Unknown,
    }
}
