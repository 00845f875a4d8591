//! The table of runs: a row per file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use blake3::Hasher;
use model::histogram::HistogramError;
use model::{Delivered, End, EndStatus, Header, Measure, RunError, RunFault, Spec};
use serde::Serialize;

use crate::batch::Declared;
use crate::checksum::whole;
use crate::chunk::{Chunk, Fault};
use crate::column::Source::{Flag, Number, OptionalCount, OptionalSmall, Text, Time};
use crate::column::{Cells, Column, Source};
use crate::error::ResultsError;

/// The columns of runs before the levels of an experiment.
const BEFORE_LEVELS: &Declared<RunRow> = &[
    ("path", Text(|run| Some(run.path.to_string_lossy().into_owned()))),
    ("run_id", Text(|run| run.word(|it| &it.run_id))),
    ("started", Time(|run| i64::try_from(run.header.as_ref()?.started_unix_ns).ok())),
    ("subject", Text(|run| run.word(|it| it.spec.subject.kind()))),
    ("memory_bytes", OptionalCount(|run| Some(run.spec()?.subject.memory_bytes()))),
    ("kernel", Text(|run| run.header.as_ref()?.environment.get("kernel").cloned())),
    ("load", Text(|run| run.word(|it| &it.spec.load.name))),
    ("load_version", OptionalSmall(|run| Some(run.spec()?.load.version))),
    ("intensity", Number(|run| Some(run.spec()?.load.intensity))),
    ("measure", Text(|run| run.word(|it| it.spec.measure.name()))),
    ("measure_kind", Text(|run| run.word(|it| measure_kind(&it.spec.measure)))),
    ("measure_version", OptionalSmall(|run| Some(run.spec()?.measure.version()))),
    ("profile", Text(|run| run.word(|it| &it.spec.timing.profile))),
    ("interval_ns", OptionalCount(|run| Some(run.spec()?.timing.interval_ns))),
    ("points", OptionalSmall(|run| Some(run.spec()?.timing.points))),
    ("seed", OptionalCount(|run| Some(run.spec()?.seed))),
    ("block", OptionalSmall(|run| Some(run.spec()?.block))),
    ("order", OptionalSmall(|run| Some(run.spec()?.order))),
    ("deterministic", Flag(|run| run.header.as_ref().map(Header::is_deterministic))),
    ("status", Text(|run| Some(run.status().name().to_owned()))),
    ("ended_ns", OptionalCount(|run| run.end.as_ref().map(|end| end.at_ns))),
    ("checksum_ok", Flag(RunRow::checksum_ok)),
    ("truncated_bytes", OptionalCount(|run| Some(run.truncated_bytes))),
    ("delivered_unit", Text(|run| Some(run.delivered.as_ref()?.unit.clone()))),
    ("delivered_intended", OptionalCount(|run| Some(run.delivered.as_ref()?.intended))),
    ("delivered", OptionalCount(|run| Some(run.delivered.as_ref()?.delivered))),
    ("delivered_elapsed_ns", OptionalCount(|run| Some(run.delivered.as_ref()?.elapsed_ns))),
];
/// The columns after the levels; the last three are JSON.
const AFTER_LEVELS: &Declared<RunRow> = &[
    ("thrashlab", Text(|run| run.word(|it| &it.thrashlab))),
    ("spec", Text(|run| run.json(|it| &it.spec))),
    ("environment", Text(|run| run.json(|it| &it.environment))),
    ("missed", Text(|run| run.json(|it| &it.missed))),
];
/// Columns of the run repeated in exported samples and work.
const OF_RUN: [&str; 5] = ["run_id", "load", "measure", "block", "seed"];

const fn measure_kind(measure: &Measure) -> &'static str {
    match measure {
        Measure::Probe(_) => "probe",
        Measure::Command(_) | Measure::Session(_) | Measure::Memory(_) => "job",
    }
}

/// A run file as far as it has been read.
#[derive(Default)]
pub struct RunRow {
    number: u32,
    path: PathBuf,
    levels: BTreeMap<String, String>,
    /// Hashes of the chunks before the `end` line.
    hashed: Vec<Hasher>,
    lines: usize,
    header: Option<Header>,
    delivered: Option<Delivered>,
    end: Option<End>,
    /// The error of an unreadable histogram.
    pub unreadable: Option<HistogramError>,
    truncated_bytes: u64,
}

impl RunRow {
    pub(crate) fn new(number: u32, path: PathBuf, levels: BTreeMap<String, String>) -> Self {
        Self { number, path, levels, ..Self::default() }
    }

    pub(crate) fn add(&mut self, chunk: &mut Chunk) -> Result<(), ResultsError> {
        if self.end.is_some() && chunk.lines > 0 {
            return Err(self.wrong(Fault::Line(RunError { line: 1, fault: RunFault::AfterEnd })));
        }
        if self.end.is_none() {
            self.hashed.extend(chunk.hashed.take().map(|hashed| *hashed));
        }
        self.lines += chunk.lines;
        self.header = self.header.take().or(chunk.header.take());
        self.delivered = chunk.delivered.take().or(self.delivered.take());
        self.end = self.end.take().or(chunk.end.take().map(|(end, _)| end));
        self.unreadable = self.unreadable.take().or(chunk.unreadable.take());
        self.truncated_bytes += chunk.truncated_bytes;
        Ok(())
    }

    /// The error of a fault in the next chunk, with its line number in the file.
    pub(crate) fn wrong(&self, fault: Fault) -> ResultsError {
        let path = self.path.clone();
        let mut source = match fault {
            Fault::Io(error) => return ResultsError::Io(path, error),
            Fault::Line(error) => error,
        };
        // After the end, only the first line matters.
        let is_line = matches!(source.fault, RunFault::Line(_) | RunFault::NotUtf8 { .. });
        if self.end.is_some() && !(is_line && source.line == 1) {
            source = RunError { line: 1, fault: RunFault::AfterEnd };
        }
        source.line += self.lines;
        ResultsError::Run(path, source)
    }

    /// The run's name; empty if the file was truncated before it.
    pub fn run_id(&self) -> &str {
        self.header.as_ref().map_or("", |header| &header.run_id)
    }

    /// The columns of the run repeated in samples and work, for grouping.
    pub fn of_run(&self, rows: usize) -> Vec<Column> {
        let declared = |name: &&str| BEFORE_LEVELS.iter().find(|(known, _)| known == name);
        OF_RUN.iter().filter_map(declared).map(|column| self.column(column, rows)).collect()
    }

    /// The columns of the run with 1 or 0 rows.
    pub(crate) fn row(&self, factors: &[String], rows: usize) -> Vec<Column> {
        let mut columns = vec![Column::whole("run", Cells::Small(vec![self.number; rows]))];
        columns.extend(BEFORE_LEVELS.iter().map(|column| self.column(column, rows)));
        columns.extend(factors.iter().map(|factor| {
            let level = self.levels.get(factor).map(String::as_str);
            Column::text(Cow::Owned(format!("level_{factor}")), level, rows)
        }));
        columns.extend(AFTER_LEVELS.iter().map(|column| self.column(column, rows)));
        columns
    }

    fn column(&self, (name, source): &(&'static str, Source<Self>), rows: usize) -> Column {
        let mut column = Column::of(name, source);
        column.take(source, self, rows);
        column
    }

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

    fn word(&self, read: fn(&Header) -> &str) -> Option<String> {
        self.header.as_ref().map(|header| read(header).to_owned())
    }

    fn json<T: Serialize>(&self, read: fn(&Header) -> &T) -> Option<String> {
        // Structs of numbers, strings and maps with string keys always serialise.
        let json = |header| serde_json::to_string(read(header)).unwrap_or_default();
        self.header.as_ref().map(json)
    }
}
