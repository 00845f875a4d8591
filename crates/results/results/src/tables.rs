//! The tables of run files: names, types and sources of their columns, for all readers and writers.

use model::{Censored, PassRecord, SampleRecord, WorkRecord};

use crate::batch::{Batch, Declared};
use crate::column::Source::{Count, EachCount, EachWord, OptionalCount, OptionalSmall};
use crate::column::Source::{Number, Small, Text, Word};
use crate::sample_line::Counter;

/// A table of run files. Its first column is the run number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row per run.
    Runs,
    /// A row per sample; part times are columns.
    Samples,
    /// A row per counter and reading.
    Counters,
    /// A row per delay in an interval of a periodic probe, with its count.
    Histograms,
    /// A row per work item of a job; resource usage is in columns.
    Work,
    /// A row per figure that a command printed.
    Figures,
    /// A row per worker's pass through all items; resource usage is in columns.
    Passes,
    /// A row per phase, warning, death, unknown line or unreadable record.
    Events,
}

use Table::{Counters, Events, Figures, Histograms, Passes, Runs, Samples, Work};

impl Table {
    /// All tables.
    pub const ALL: [Self; 8] = [Runs, Samples, Counters, Histograms, Work, Figures, Passes, Events];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Runs => "runs",
            Samples => "samples",
            Counters => "counters",
            Histograms => "histograms",
            Work => "work",
            Figures => "figures",
            Passes => "passes",
            Events => "events",
        }
    }

    /// The prefix of columns from maps.
    pub const fn prefix(self) -> &'static str {
        if matches!(self, Self::Samples) { "part_" } else { "" }
    }

    pub(crate) fn batch(self) -> Batch {
        match self {
            Runs => Batch::default(),
            Samples => Batch::new(SAMPLES),
            Counters => Batch::new(COUNTERS),
            Histograms => Batch::new(HISTOGRAMS),
            Work => Batch::new(WORK),
            Figures => Batch::new(FIGURES),
            Passes => Batch::new(PASSES),
            Events => Batch::new(EVENTS),
        }
    }
}

const WHENS: &[&str] = &["before", "after", "between", "delivered"];
const CENSORS: &[&str] = &[
    Censored::Timeout.name(),
    Censored::ProbeDied.name(),
    Censored::Failed.name(),
    Censored::RunEnded.name(),
];

pub(crate) const SAMPLES: &Declared<SampleRecord> = &[
    ("sample", Small(|it| it.index)),
    ("at_ns", Count(|it| it.at_ns)),
    ("intended_ns", Count(|it| it.intended_ns)),
    ("started_ns", OptionalCount(|it| it.started_ns)),
    ("completed_ns", OptionalCount(|it| it.completed_ns)),
    ("delay_ns", Count(SampleRecord::delay_ns)),
    ("censored", Word(CENSORS, |it| it.censored.map(Censored::name))),
    ("censored_at_ns", OptionalCount(|it| it.censored_at_ns)),
];

pub(crate) const COUNTERS: &Declared<Readings> = &[
    ("sample", OptionalSmall(|it| it.sample)),
    ("at_ns", Count(|it| it.at_ns)),
    ("when", Word(WHENS, |it| Some(it.when))),
    ("source", EachWord(|it, numbers| numbers.extend(it.found.iter().map(|it| it.source)))),
    ("counter", EachWord(|it, numbers| numbers.extend(it.found.iter().map(|it| it.name)))),
    ("value", EachCount(|it, values| values.extend(it.found.iter().map(|it| it.value)))),
];
/// Indices of [`COUNTERS`] columns whose words are set at the end.
pub(crate) const SOURCE: usize = 4;
pub(crate) const COUNTER: usize = 5;

pub(crate) const HISTOGRAMS: &Declared<HistogramRow> = &[
    ("from_ns", Count(|it| it.from_ns)),
    ("to_ns", Count(|it| it.to_ns)),
    ("delay_ns", Count(|it| it.delay_ns)),
    ("count", Count(|it| it.count)),
    ("censored", Word(CENSORS, |it| it.censored.map(Censored::name))),
];

pub(crate) const WORK: &Declared<WorkRecord> = &[
    ("worker", Small(|it| it.worker)),
    ("pass", Small(|it| it.pass)),
    ("item", Word(&[], |it| Some(&it.item))),
    ("started_ns", Count(|it| it.started_ns)),
    ("completed_ns", OptionalCount(|it| it.completed_ns)),
    ("censored_at_ns", OptionalCount(|it| it.censored_at_ns)),
    ("failure", Text(|it| it.failure.clone())),
];

pub(crate) const FIGURES: &Declared<Figure> = &[
    ("worker", Small(|it| it.worker)),
    ("pass", Small(|it| it.pass)),
    ("item", Word(&[], |it| Some(&it.item))),
    ("figure", Word(&[], |it| Some(&it.name))),
    ("value", Number(|it| Some(it.value))),
];

pub(crate) const PASSES: &Declared<PassRecord> = &[
    ("worker", Small(|it| it.worker)),
    ("pass", Small(|it| it.pass)),
    ("started_ns", Count(|it| it.started_ns)),
    ("completed_ns", Count(|it| it.completed_ns)),
];

pub(crate) const EVENTS: &Declared<Event> = &[
    ("at_ns", OptionalCount(|it| it.at_ns)),
    ("event", Word(&["phase", "warning", "unreadable", "unknown", "death"], |it| Some(it.event))),
    ("text", Text(|it| Some(it.text.clone()))),
];

pub(crate) struct Readings {
    pub(crate) sample: Option<u32>,
    pub(crate) at_ns: u64,
    pub(crate) when: &'static str,
    pub(crate) found: Vec<Counter>,
}

/// A figure that a command printed.
pub(crate) struct Figure {
    pub(crate) worker: u32,
    pub(crate) pass: u32,
    pub(crate) item: String,
    pub(crate) name: String,
    pub(crate) value: f64,
}

/// A delay of a periodic probe, or a lower bound of one.
pub(crate) struct HistogramRow {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) delay_ns: u64,
    pub(crate) count: u64,
    pub(crate) censored: Option<Censored>,
}

/// An event in a run other than a measurement.
pub(crate) struct Event {
    pub(crate) at_ns: Option<u64>,
    pub(crate) event: &'static str,
    pub(crate) text: String,
}
