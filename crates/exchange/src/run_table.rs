//! The table of runs: its columns, and the row of a run that has ended.

use std::collections::BTreeMap;

use model::{Delivered, End, EndStatus, Header, Measure};

use crate::table::{Cell, Column, ExportError, Fixed, Kind, RowSink, columns as fixed_columns};

/// What is known of a run besides its lines.
#[derive(Clone, Debug, Default)]
pub struct RunOf {
    /// Its number, from 0.
    pub number: u32,
    /// Its file.
    pub path: String,
    /// Its level of each factor of an experiment.
    pub levels: BTreeMap<String, String>,
}

const BEFORE_LEVELS: [Fixed; 28] = [
    ("run", Kind::Small),
    ("path", Kind::Text),
    ("run_id", Kind::Text),
    ("started", Kind::Time),
    ("subject", Kind::Text),
    ("memory_bytes", Kind::Count),
    ("kernel", Kind::Text),
    ("load", Kind::Text),
    ("load_version", Kind::Small),
    ("intensity", Kind::Number),
    ("measure", Kind::Text),
    ("measure_kind", Kind::Text),
    ("measure_version", Kind::Small),
    ("profile", Kind::Text),
    ("interval_ns", Kind::Count),
    ("points", Kind::Small),
    ("seed", Kind::Count),
    ("block", Kind::Small),
    ("order", Kind::Small),
    ("deterministic", Kind::Flag),
    ("status", Kind::Text),
    ("ended_ns", Kind::Count),
    ("checksum_ok", Kind::Flag),
    ("truncated_bytes", Kind::Count),
    ("delivered_unit", Kind::Text),
    ("delivered_intended", Kind::Count),
    ("delivered", Kind::Count),
    ("delivered_elapsed_ns", Kind::Count),
];
/// The last three are JSON.
const AFTER_LEVELS: [Fixed; 4] = [
    ("thrashlab", Kind::Text),
    ("spec", Kind::Text),
    ("environment", Kind::Text),
    ("missed", Kind::Text),
];
/// How many columns say what was run.
const OF_HEADER: usize = 18;

/// The columns: a `level_…` for each factor of an experiment.
pub(crate) fn columns(factors: &[String]) -> Vec<Column> {
    let levels = factors.iter().map(|factor| Column::new(format!("level_{factor}"), Kind::Text));
    fixed_columns(&BEFORE_LEVELS)
        .into_iter()
        .chain(levels)
        .chain(fixed_columns(&AFTER_LEVELS))
        .collect()
}

/// A run all of whose lines were read.
pub(crate) struct Ended<'a> {
    pub(crate) run: &'a RunOf,
    pub(crate) header: Option<&'a Header>,
    pub(crate) delivered: Option<&'a Delivered>,
    pub(crate) end: Option<&'a End>,
    pub(crate) checksum_ok: Option<bool>,
    pub(crate) truncated_bytes: u64,
}

impl Ended<'_> {
    /// Writes the run's row.
    pub(crate) fn write(
        &self,
        factors: &[String],
        sink: &mut dyn RowSink,
    ) -> Result<(), ExportError> {
        let mut row = vec![Cell::Small(self.run.number), Cell::Text(&self.run.path)];
        row.extend(self.header.map_or([Cell::Absent; OF_HEADER], of_header));
        row.extend(self.outcome());
        let levels = factors.iter().map(|factor| self.run.levels.get(factor));
        row.extend(levels.map(|level| Cell::text(level.map(String::as_str))));
        // Plain structs of numbers, strings and maps with string keys cannot fail to serialise.
        let json = self.header.map(|header| {
            [
                serde_json::to_string(&header.spec).unwrap_or_default(),
                serde_json::to_string(&header.environment).unwrap_or_default(),
                serde_json::to_string(&header.missed).unwrap_or_default(),
            ]
        });
        row.push(Cell::text(self.header.map(|header| header.thrashlab.as_str())));
        match &json {
            Some(json) => row.extend(json.iter().map(|text| Cell::Text(text))),
            None => row.extend([Cell::Absent; 3]),
        }
        sink.row(&row)
    }

    /// How it ended, and what its load delivered.
    fn outcome(&self) -> [Cell<'_>; 8] {
        let status = self.end.map_or(EndStatus::Killed, |end| end.status).name();
        let delivered = self.delivered;
        [
            Cell::Text(status),
            Cell::count(self.end.map(|end| end.at_ns)),
            self.checksum_ok.map_or(Cell::Absent, Cell::Flag),
            Cell::Count(self.truncated_bytes),
            Cell::text(delivered.map(|it| it.unit.as_str())),
            Cell::count(delivered.map(|it| it.intended)),
            Cell::count(delivered.map(|it| it.delivered)),
            Cell::count(delivered.map(|it| it.elapsed_ns)),
        ]
    }
}

/// What was run.
fn of_header(header: &Header) -> [Cell<'_>; OF_HEADER] {
    let spec = &header.spec;
    let kind = match spec.measure {
        Measure::Probe(_) => "probe",
        Measure::Job(_) => "job",
    };
    [
        Cell::Text(&header.run_id),
        Cell::Time(header.started_unix_ns),
        Cell::Text(spec.subject.kind()),
        Cell::Count(spec.subject.memory_bytes()),
        Cell::text(header.environment.get("kernel").map(String::as_str)),
        Cell::Text(&spec.load.name),
        Cell::Small(spec.load.version),
        Cell::Number(spec.load.intensity),
        Cell::Text(spec.measure.name()),
        Cell::Text(kind),
        Cell::Small(spec.measure.version()),
        Cell::Text(&spec.timing.profile),
        Cell::Count(spec.timing.interval_ns),
        Cell::Small(spec.timing.points),
        Cell::Count(spec.seed),
        Cell::Small(spec.block),
        Cell::Small(spec.order),
        Cell::Flag(header.is_deterministic()),
    ]
}
