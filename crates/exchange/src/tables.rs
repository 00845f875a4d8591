//! Run files as tables: which there are, which columns they have, and the rows that a line is.

use std::collections::BTreeSet;

use model::{
    Censored, CounterSet, Delivered, End, Header, HistogramRecord, Line, Name, PassRecord,
    SampleRecord, Values, WorkRecord,
};

use crate::run_table::{self, RunOf};
use crate::table::{Cell, Column, ExportError, Fixed, Kind, RowSink, columns};

/// A table of run files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// One row a run.
    Runs,
    /// One row a sample; the times of its parts are columns.
    Samples,
    /// One row a delay that occurred in an interval of a periodic probe, with its count.
    Histograms,
    /// One row a counter and reading.
    Counters,
    /// One row a piece of a job's work; what it used are columns.
    Work,
    /// One row a pass through all pieces; what it used are columns.
    Passes,
    /// One row a phase, a warning, or a line of a kind that is not known.
    Events,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Runs,
        Self::Samples,
        Self::Histograms,
        Self::Counters,
        Self::Work,
        Self::Passes,
        Self::Events,
    ];

    /// Its name, as on the command line and of its file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Samples => "samples",
            Self::Histograms => "histograms",
            Self::Counters => "counters",
            Self::Work => "work",
            Self::Passes => "passes",
            Self::Events => "events",
        }
    }

    /// Its columns.
    ///
    /// # Errors
    /// When two of them would have one name.
    pub fn columns(self, names: &Names) -> Result<Vec<Column>, ExportError> {
        let of_run = || columns(&OF_RUN).into_iter();
        let wide = |prefix: &'static str, names: &BTreeSet<Name>| -> Vec<Column> {
            let column = |name: &Name| Column::new(format!("{prefix}{name}"), Kind::Count);
            names.iter().map(column).collect()
        };
        let found: Vec<Column> = match self {
            Self::Runs => run_table::columns(&names.levels),
            Self::Samples => {
                of_run().chain(columns(&SAMPLES)).chain(wide("part_", &names.parts)).collect()
            }
            Self::Histograms => of_run().chain(columns(&HISTOGRAMS)).collect(),
            Self::Counters => columns(&COUNTERS),
            Self::Work => of_run().chain(columns(&WORK)).chain(wide("", &names.work)).collect(),
            Self::Passes => {
                of_run().chain(columns(&PASSES)).chain(wide("", &names.passes)).collect()
            }
            Self::Events => columns(&EVENTS),
        };
        let mut seen = BTreeSet::new();
        match found.iter().find(|column| !seen.insert(column.name.as_str())) {
            Some(twice) => Err(ExportError::SameName(twice.name.clone())),
            None => Ok(found),
        }
    }
}

/// What rows of samples and work say of their run, so that they can be grouped as they are.
const OF_RUN: [Fixed; 6] = [
    ("run", Kind::Small),
    ("run_id", Kind::Text),
    ("load", Kind::Text),
    ("measure", Kind::Text),
    ("block", Kind::Small),
    ("seed", Kind::Count),
];
const SAMPLES: [Fixed; 8] = [
    ("sample", Kind::Small),
    ("at_ns", Kind::Count),
    ("intended_ns", Kind::Count),
    ("started_ns", Kind::Count),
    ("completed_ns", Kind::Count),
    ("delay_ns", Kind::Count),
    ("censored", Kind::Text),
    ("censored_at_ns", Kind::Count),
];
const HISTOGRAMS: [Fixed; 5] = [
    ("from_ns", Kind::Count),
    ("to_ns", Kind::Count),
    ("delay_ns", Kind::Count),
    ("count", Kind::Count),
    ("censored", Kind::Text),
];
const COUNTERS: [Fixed; 7] = [
    ("run", Kind::Small),
    ("sample", Kind::Small),
    ("at_ns", Kind::Count),
    ("when", Kind::Text),
    ("source", Kind::Text),
    ("counter", Kind::Text),
    ("value", Kind::Count),
];
const WORK: [Fixed; 7] = [
    ("worker", Kind::Small),
    ("pass", Kind::Small),
    ("item", Kind::Text),
    ("started_ns", Kind::Count),
    ("completed_ns", Kind::Count),
    ("censored_at_ns", Kind::Count),
    ("failure", Kind::Text),
];
const PASSES: [Fixed; 4] = [
    ("worker", Kind::Small),
    ("pass", Kind::Small),
    ("started_ns", Kind::Count),
    ("completed_ns", Kind::Count),
];
const EVENTS: [Fixed; 4] =
    [("run", Kind::Small), ("at_ns", Kind::Count), ("event", Kind::Text), ("text", Kind::Text)];

/// The names in run files that are columns of tables, found by a first reading.
#[derive(Clone, Debug, Default)]
pub struct Names {
    parts: BTreeSet<Name>,
    work: BTreeSet<Name>,
    passes: BTreeSet<Name>,
    levels: Vec<String>,
}

impl Names {
    /// Takes the names of one line.
    pub fn line(&mut self, line: &Line) {
        let (names, found) = match line {
            Line::Sample(record) => (&mut self.parts, &record.parts),
            Line::Work(record) => (&mut self.work, &record.usage),
            Line::Pass(record) => (&mut self.passes, &record.usage),
            _ => return,
        };
        names.extend(found.keys().cloned());
    }

    /// Takes a factor of an experiment, in the plan's order.
    pub fn factor(&mut self, name: &str) {
        if !self.levels.iter().any(|known| known == name) {
            self.levels.push(name.to_owned());
        }
    }
}

/// The rows of one table, made from the lines of run files.
pub struct Rows<'a> {
    table: Table,
    names: &'a Names,
    sink: Box<dyn RowSink + 'a>,
    run: RunOf,
    header: Option<Header>,
    delivered: Option<Delivered>,
    end: Option<End>,
}

impl<'a> Rows<'a> {
    /// Rows of a table that go to a sink with its columns.
    #[must_use]
    pub fn new(table: Table, names: &'a Names, sink: Box<dyn RowSink + 'a>) -> Self {
        let run = RunOf::default();
        Self { table, names, sink, run, header: None, delivered: None, end: None }
    }

    /// Begins a run, of which all lines come next.
    pub fn begin(&mut self, run: RunOf) {
        *self = Rows { run, header: None, delivered: None, end: None, ..self.taken() };
    }

    fn taken(&mut self) -> Self {
        let sink = std::mem::replace(&mut self.sink, Box::new(Nowhere));
        Rows::new(self.table, self.names, sink)
    }

    /// Adds the rows of a line.
    ///
    /// # Errors
    /// When they cannot be written, or a histogram cannot be read.
    pub fn line(&mut self, line: &Line) -> Result<(), ExportError> {
        match (self.table, line) {
            (_, Line::Header(header)) => self.header = Some((**header).clone()),
            (Table::Runs, Line::Delivered(delivered)) => self.delivered = Some(delivered.clone()),
            (Table::Runs, Line::End(end)) => self.end = Some(end.clone()),
            (Table::Samples, Line::Sample(record)) => self.sample(record)?,
            (Table::Histograms, Line::Histogram(record)) => self.histogram(record)?,
            (Table::Work, Line::Work(record)) => self.work(record)?,
            (Table::Passes, Line::Pass(record)) => self.pass(record)?,
            (Table::Counters, _) => self.counters(line)?,
            (Table::Events, _) => self.event(line)?,
            _ => {}
        }
        Ok(())
    }

    /// Ends a run: whether its checksum fits, and how many bytes of a cut-off line there were.
    ///
    /// # Errors
    /// When its row cannot be written.
    pub fn end(
        &mut self,
        checksum_ok: Option<bool>,
        truncated_bytes: u64,
    ) -> Result<(), ExportError> {
        if self.table != Table::Runs {
            return Ok(());
        }
        run_table::Ended {
            run: &self.run,
            header: self.header.as_ref(),
            delivered: self.delivered.as_ref(),
            end: self.end.as_ref(),
            checksum_ok,
            truncated_bytes,
        }
        .write(&self.names.levels, self.sink.as_mut())
    }

    /// Writes the end of the table.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self) -> Result<(), ExportError> {
        self.sink.finish()
    }

    /// The cells of [`OF_RUN`].
    fn of_run(&self) -> [Cell<'_>; 6] {
        let number = Cell::Small(self.run.number);
        let Some(header) = &self.header else {
            return [number, Cell::Absent, Cell::Absent, Cell::Absent, Cell::Absent, Cell::Absent];
        };
        let spec = &header.spec;
        [
            number,
            Cell::Text(&header.run_id),
            Cell::Text(&spec.load.name),
            Cell::Text(spec.measure.name()),
            Cell::Small(spec.block),
            Cell::Count(spec.seed),
        ]
    }

    /// Writes a row that begins with the run and ends with a column for each name.
    fn put(
        &mut self,
        cells: &[Cell],
        names: &BTreeSet<Name>,
        values: &Values,
    ) -> Result<(), ExportError> {
        let wide = names.iter().map(|name| Cell::count(values.get(name).copied()));
        // The sink is set aside, because the cells borrow from the header.
        let mut sink = std::mem::replace(&mut self.sink, Box::new(Nowhere));
        let row: Vec<Cell> =
            self.of_run().into_iter().chain(cells.iter().copied()).chain(wide).collect();
        let written = sink.row(&row);
        self.sink = sink;
        written
    }

    fn sample(&mut self, record: &SampleRecord) -> Result<(), ExportError> {
        let cells = [
            Cell::Small(record.index),
            Cell::Count(record.at_ns),
            Cell::Count(record.intended_ns),
            Cell::count(record.started_ns),
            Cell::count(record.completed_ns),
            Cell::Count(record.delay_ns()),
            Cell::text(record.censored.map(Censored::name)),
            Cell::count(record.censored_at_ns),
        ];
        self.put(&cells, &self.names.parts, &record.parts)
    }

    fn histogram(&mut self, record: &HistogramRecord) -> Result<(), ExportError> {
        let counts = record.counts().map_err(|source| {
            let run_id = self.header.as_ref().map(|header| header.run_id.clone());
            ExportError::Histogram { run_id: run_id.unwrap_or_default(), source }
        })?;
        for (delay_ns, count, censored) in counts {
            let cells = [
                Cell::Count(record.from_ns),
                Cell::Count(record.to_ns),
                Cell::Count(delay_ns),
                Cell::Count(count),
                Cell::text(censored.map(Censored::name)),
            ];
            self.put(&cells, &BTreeSet::new(), &Values::new())?;
        }
        Ok(())
    }

    fn work(&mut self, record: &WorkRecord) -> Result<(), ExportError> {
        let cells = [
            Cell::Small(record.worker),
            Cell::Small(record.pass),
            Cell::Text(&record.item),
            Cell::Count(record.started_ns),
            Cell::count(record.completed_ns),
            Cell::count(record.censored_at_ns),
            Cell::text(record.failure.as_deref()),
        ];
        self.put(&cells, &self.names.work, &record.usage)
    }

    fn pass(&mut self, record: &PassRecord) -> Result<(), ExportError> {
        let cells = [
            Cell::Small(record.worker),
            Cell::Small(record.pass),
            Cell::Count(record.started_ns),
            Cell::Count(record.completed_ns),
        ];
        self.put(&cells, &self.names.passes, &record.usage)
    }

    fn counters(&mut self, line: &Line) -> Result<(), ExportError> {
        match line {
            Line::Sample(record) => {
                let sample = Some(record.index);
                self.readings(sample, record.at_ns, "before", &record.before)?;
                self.readings(sample, record.at_ns, "after", &record.after)
            }
            Line::Histogram(record) => {
                self.readings(None, record.at_ns, "before", &record.before)?;
                self.readings(None, record.at_ns, "after", &record.after)
            }
            Line::Counters(record) => {
                self.readings(None, record.at_ns, "between", &record.counters)
            }
            Line::Delivered(record) if !record.totals.is_empty() => {
                let totals = CounterSet::from([("totals".into(), record.totals.clone())]);
                self.readings(None, record.at_ns, "delivered", &totals)
            }
            _ => Ok(()),
        }
    }

    fn readings(
        &mut self,
        sample: Option<u32>,
        at_ns: u64,
        when: &str,
        set: &CounterSet,
    ) -> Result<(), ExportError> {
        for (source, counters) in set {
            for (counter, value) in counters {
                self.sink.row(&[
                    Cell::Small(self.run.number),
                    sample.map_or(Cell::Absent, Cell::Small),
                    Cell::Count(at_ns),
                    Cell::Text(when),
                    Cell::Text(source),
                    Cell::Text(counter),
                    Cell::Count(*value),
                ])?;
            }
        }
        Ok(())
    }

    fn event(&mut self, line: &Line) -> Result<(), ExportError> {
        let (at_ns, event, text) = match line {
            Line::Phase(record) => (Some(record.at_ns), "phase", record.phase.name().to_owned()),
            Line::Warning(record) => (Some(record.at_ns), "warning", record.text.clone()),
            Line::Death(record) => (Some(record.at_ns), "death", record.cause.clone()),
            Line::Unknown(value) => (None, "unknown", value.to_string()),
            _ => return Ok(()),
        };
        let run = Cell::Small(self.run.number);
        self.sink.row(&[run, Cell::count(at_ns), Cell::Text(event), Cell::Text(&text)])
    }
}

/// The sink of rows whose own is in use.
struct Nowhere;

impl RowSink for Nowhere {
    fn row(&mut self, _: &[Cell]) -> Result<(), ExportError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        Ok(())
    }
}
