//! The table of runs: one row a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, StringArray, TimestampNanosecondArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{ArrowError, Field};
use blake3::Hasher;
use model::{Delivered, End, EndStatus, Header, Measure, RunError, Spec};
use serde::Serialize;
use store::results::ResultsError;

use crate::checksum::whole;
use crate::chunk::{Chunk, Fault};
use crate::table::Table;
use crate::tables::Collected;

/// A run file under way: its pieces come in order.
pub(crate) struct RunRow {
    path: PathBuf,
    levels: BTreeMap<String, String>,
    /// All before the `end` line, piece by piece.
    hashed: Vec<Hasher>,
    /// Whole lines so far.
    lines: usize,
    header: Option<Header>,
    delivered: Option<Delivered>,
    end: Option<End>,
    truncated_bytes: u64,
}

impl RunRow {
    pub(crate) fn new(path: PathBuf, levels: BTreeMap<String, String>) -> Self {
        Self {
            path,
            levels,
            hashed: Vec::new(),
            lines: 0,
            header: None,
            delivered: None,
            end: None,
            truncated_bytes: 0,
        }
    }

    /// Adds the next piece of this file; hands out its rows, or tells what is wrong with it.
    pub(crate) fn add(&mut self, read: Result<Chunk, Fault>) -> Result<Collected, ResultsError> {
        let chunk = read.map_err(|fault| self.wrong(fault))?;
        if self.end.is_some() && chunk.lines > 0 {
            return Err(self.wrong(Fault::Line(RunError::AfterEnd { line: 1 })));
        }
        if self.end.is_none() {
            self.hashed.extend(chunk.hashed.map(|hashed| *hashed));
        }
        self.lines += chunk.lines;
        self.header = self.header.take().or(chunk.header);
        self.delivered = chunk.delivered.or(self.delivered.take());
        self.end = self.end.take().or(chunk.end.map(|(end, _)| end));
        self.truncated_bytes += chunk.truncated_bytes;
        Ok(chunk.collected)
    }

    /// What is wrong with the next piece, in lines of the file.
    fn wrong(&self, fault: Fault) -> ResultsError {
        let path = self.path.clone();
        let error = match fault {
            Fault::Io(source) => return ResultsError::Io { path, source },
            Fault::Line(error) => error,
        };
        let source = match later(error, self.lines) {
            // Of what comes after the end only the first line matters, and whether it is one.
            error if self.end.is_none() => error,
            RunError::Line { line, source } if line == self.lines + 1 => {
                RunError::Line { line, source }
            }
            RunError::NotUtf8 { line, byte } if line == self.lines + 1 => {
                RunError::NotUtf8 { line, byte }
            }
            _ => RunError::AfterEnd { line: self.lines + 1 },
        };
        ResultsError::Run { path, source }
    }

    /// As [`model::Run::checksum_ok`].
    fn checksum_ok(&self) -> Option<bool> {
        let end = self.end.as_ref()?;
        Some(whole(&self.hashed).to_hex().as_str() == end.blake3)
    }

    fn status(&self) -> EndStatus {
        self.end.as_ref().map_or(EndStatus::Killed, |end| end.status)
    }

    fn spec(&self) -> Option<&Spec> {
        self.header.as_ref().map(|header| &header.spec)
    }
}

/// An error of a piece, with so many lines before it.
fn later(error: RunError, lines: usize) -> RunError {
    match error {
        RunError::Line { line, source } => RunError::Line { line: line + lines, source },
        RunError::NotUtf8 { line, byte } => RunError::NotUtf8 { line: line + lines, byte },
        RunError::SecondHeader { line } => RunError::SecondHeader { line: line + lines },
        RunError::AfterEnd { line } => RunError::AfterEnd { line: line + lines },
        RunError::NoHeader => RunError::NoHeader,
    }
}

/// Columns in the making.
struct Columns<'a> {
    rows: &'a [RunRow],
    columns: Vec<(Field, ArrayRef)>,
}

impl Columns<'_> {
    fn add(&mut self, name: &str, array: ArrayRef) {
        self.columns.push((Field::new(name, array.data_type().clone(), true), array));
    }

    fn text(&mut self, name: &str, read: impl Fn(&RunRow) -> Option<String>) {
        self.add(name, Arc::new(self.rows.iter().map(read).collect::<StringArray>()));
    }

    fn small(&mut self, name: &str, read: impl Fn(&Spec) -> u32) {
        let read = |row: &RunRow| row.spec().map(&read);
        self.add(name, Arc::new(self.rows.iter().map(read).collect::<UInt32Array>()));
    }

    fn number(&mut self, name: &str, read: impl Fn(&RunRow) -> Option<u64>) {
        self.add(name, Arc::new(self.rows.iter().map(read).collect::<UInt64Array>()));
    }

    fn flag(&mut self, name: &str, read: impl Fn(&RunRow) -> Option<bool>) {
        self.add(name, Arc::new(self.rows.iter().map(read).collect::<BooleanArray>()));
    }

    /// A text of the header.
    fn word(&mut self, name: &str, read: impl Fn(&Header) -> String) {
        self.text(name, |row| row.header.as_ref().map(&read));
    }

    /// Something of the header that has a form of its own.
    fn json<T: Serialize>(&mut self, name: &str, read: impl Fn(&Header) -> &T) {
        // Plain structs of numbers, strings and maps with string keys cannot fail to serialise.
        self.word(name, |header| serde_json::to_string(read(header)).unwrap_or_default());
    }
}

/// The table of the runs, with a column for each factor of their experiments.
pub(crate) fn run_table(rows: &[RunRow], factors: &[String]) -> Result<Table, ArrowError> {
    let mut table = Columns { rows, columns: Vec::new() };
    table.add("run", Arc::new((0..rows.len() as u32).collect::<UInt32Array>()));
    table.text("path", |row| Some(row.path.to_string_lossy().into_owned()));
    table.word("run_id", |header| header.run_id.clone());
    let started = |row: &RunRow| {
        let header = row.header.as_ref()?;
        i64::try_from(header.started_unix_ns).ok()
    };
    let started = rows.iter().map(started).collect::<TimestampNanosecondArray>();
    table.add("started", Arc::new(started.with_timezone("UTC")));
    what(&mut table);
    outcome(&mut table);
    let mut seen = BTreeSet::new();
    for factor in factors.iter().filter(|factor| seen.insert(*factor)) {
        table.text(&format!("level_{factor}"), |row| row.levels.get(factor).cloned());
    }
    table.word("thrashlab", |header| header.thrashlab.clone());
    table.json("spec", |header| &header.spec);
    table.json("environment", |header| &header.environment);
    table.json("missed", |header| &header.missed);
    Table::of_columns(table.columns)
}

/// What was run.
fn what(table: &mut Columns<'_>) {
    table.word("subject", |header| header.spec.subject.kind().to_owned());
    table.number("memory_bytes", |row| Some(row.spec()?.subject.memory_bytes()));
    table.text("kernel", |row| row.header.as_ref()?.environment.get("kernel").cloned());
    table.word("load", |header| header.spec.load.name.clone());
    table.small("load_version", |spec| spec.load.version);
    let dose = |row: &RunRow| Some(row.spec()?.load.intensity);
    let doses = table.rows.iter().map(dose).collect::<Float64Array>();
    table.add("intensity", Arc::new(doses));
    table.word("measure", |header| header.spec.measure.name().to_owned());
    table.word("measure_kind", |header| match header.spec.measure {
        Measure::Probe(_) => "probe".to_owned(),
        Measure::Job(_) => "job".to_owned(),
    });
    table.small("measure_version", |spec| spec.measure.version());
    table.word("profile", |header| header.spec.timing.profile.clone());
    table.number("interval_ns", |row| Some(row.spec()?.timing.interval_ns));
    table.small("points", |spec| spec.timing.points);
    table.number("seed", |row| Some(row.spec()?.seed));
    table.small("block", |spec| spec.block);
    table.small("order", |spec| spec.order);
    table.flag("deterministic", |row| row.header.as_ref().map(Header::is_deterministic));
}

/// How it ended, and what the load delivered.
fn outcome(table: &mut Columns<'_>) {
    table.text("status", |row| Some(row.status().name().to_owned()));
    table.number("ended_ns", |row| row.end.as_ref().map(|end| end.at_ns));
    table.flag("checksum_ok", RunRow::checksum_ok);
    table.number("truncated_bytes", |row| Some(row.truncated_bytes));
    table.text("delivered_unit", |row| Some(row.delivered.as_ref()?.unit.clone()));
    table.number("delivered_intended", |row| Some(row.delivered.as_ref()?.intended));
    table.number("delivered", |row| Some(row.delivered.as_ref()?.delivered));
    table.number("delivered_elapsed_ns", |row| Some(row.delivered.as_ref()?.elapsed_ns));
}
