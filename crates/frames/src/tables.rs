//! What is collected of run files, and the tables that it becomes.

use arrow_array::ArrayRef;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_schema::{ArrowError, Field};
use model::{
    Censored, CounterSet, DeathRecord, Delivered, HistogramRecord, PassRecord, PhaseRecord,
    SampleRecord, Warning, WorkRecord,
};

use crate::columns::{Coded, Column, Optional, Wide};
use crate::names::{
    CENSORED, COUNTER, Dictionaries, EVENT, ITEM, Renumbering, SOURCE, Vocabulary, WHEN,
};
use crate::sample_line::{Counter, Fields, SampleLine};
use crate::table::{Gathered, Rows, Table, rows, wide_columns};

/// The tables of one or more run files; `run` numbers the runs from 0, in the order of `runs`.
#[derive(Clone, Debug)]
pub struct Frames {
    /// One row a run: what was run, where, how it ended, what the load delivered.
    pub runs: Table,
    /// One row a sample; times of its parts are columns that begin with `part_`.
    pub samples: Table,
    /// One row a counter and reading.
    pub counters: Table,
    /// One row a delay that occurred in an interval of a periodic probe, with its count.
    pub histograms: Table,
    /// One row a piece of a job's work; what it used are columns.
    pub work: Table,
    /// One row a pass of a worker through all pieces.
    pub passes: Table,
    /// One row a phase, a warning, a line of an unknown kind, or something that cannot be read.
    pub events: Table,
}

impl Frames {
    /// All tables by their names.
    #[must_use]
    pub fn tables(self) -> [(&'static str, Table); 7] {
        [
            ("runs", self.runs),
            ("samples", self.samples),
            ("counters", self.counters),
            ("histograms", self.histograms),
            ("work", self.work),
            ("passes", self.passes),
            ("events", self.events),
        ]
    }
}

/// The source of counters that are totals of what was delivered.
const TOTALS: &str = "totals";

/// When counters were read, as numbers of [`crate::names::WHENS`].
const BEFORE: i32 = 0;
const AFTER: i32 = 1;
const BETWEEN: i32 = 2;
const DELIVERED: i32 = 3;

/// Events, as numbers of [`crate::names::EVENTS`].
const PHASE: i32 = 0;
const WARNING: i32 = 1;
const UNREADABLE: i32 = 2;
const UNKNOWN: i32 = 3;
const DEATH: i32 = 4;

/// A reason as its number in [`crate::names::CENSORS`].
const fn number_of(why: Censored) -> u8 {
    match why {
        Censored::Timeout => 0,
        Censored::ProbeDied => 1,
        Censored::Failed => 2,
        Censored::RunEnded => 3,
    }
}

rows!(
    /// Samples.
    Samples, "part_", run: Vec<u32>,
    sample: Vec<u32>,
    at_ns: Vec<u64>,
    intended_ns: Vec<u64>,
    started_ns: Optional<UInt64Type>,
    completed_ns: Optional<UInt64Type>,
    delay_ns: Vec<u64>,
    censored: Coded<CENSORED>,
    censored_at_ns: Optional<UInt64Type>
);

rows!(
    /// Readings of counters.
    Counters, "", run: Vec<u32>,
    sample: Optional<UInt32Type>,
    at_ns: Vec<u64>,
    when: Coded<WHEN>,
    source: Coded<SOURCE>,
    counter: Coded<COUNTER>,
    value: Vec<u64>
);

rows!(
    /// Delays of periodic probes.
    Histograms, "", run: Vec<u32>,
    from_ns: Vec<u64>,
    to_ns: Vec<u64>,
    delay_ns: Vec<u64>,
    count: Vec<u64>,
    censored: Coded<CENSORED>
);

rows!(
    /// Pieces of work.
    Work, "", run: Vec<u32>,
    worker: Vec<u32>,
    pass: Vec<u32>,
    item: Coded<ITEM>,
    started_ns: Vec<u64>,
    completed_ns: Optional<UInt64Type>,
    censored_at_ns: Optional<UInt64Type>,
    failure: Vec<Option<String>>
);

rows!(
    /// Passes.
    Passes, "", run: Vec<u32>,
    worker: Vec<u32>,
    pass: Vec<u32>,
    started_ns: Vec<u64>,
    completed_ns: Vec<u64>
);

rows!(
    /// Phases, warnings, and what is not known.
    Events, "", run: Vec<u32>,
    at_ns: Optional<UInt64Type>,
    event: Coded<EVENT>,
    text: Vec<Option<String>>
);

/// All that was read of one piece of one file.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The number of the run.
    pub(crate) run: u32,
    pub(crate) words: Vocabulary,
    pub(crate) samples: Samples,
    pub(crate) counters: Counters,
    histograms: Histograms,
    work: Work,
    passes: Passes,
    events: Events,
}

impl Collected {
    /// Room for about as much as there was elsewhere ([`Self::sizes`]).
    pub(crate) fn like(sizes: [usize; 2]) -> Self {
        let mut collected = Self::default();
        let [samples, counters] = sizes.map(|size| size + size / 16);
        collected.samples.reserve(samples);
        collected.counters.reserve(counters);
        collected
    }

    /// How many samples and counters there are.
    pub(crate) fn sizes(&self) -> [usize; 2] {
        [self.samples.len(), self.counters.len()]
    }

    /// Adds the sample that was just read from its line.
    pub(crate) fn sample_line(&mut self, line: &SampleLine) {
        let row = self.samples.len();
        for (guess, (name, value)) in line.parts.iter().enumerate() {
            self.samples.wide.set(row, guess, self.words.parts.name(*name), *value);
        }
        self.push_sample(&line.fields);
        let place =
            |when| Place { sample: Some(line.fields.index), at_ns: line.fields.at_ns, when };
        self.push_counters(place(BEFORE), &line.before);
        self.push_counters(place(AFTER), &line.after);
    }

    pub(crate) fn sample(&mut self, record: &SampleRecord) {
        let row = self.samples.len();
        for (guess, (name, value)) in record.parts.iter().enumerate() {
            self.samples.wide.set(row, guess, name, *value);
        }
        self.push_sample(&Fields {
            at_ns: record.at_ns,
            index: record.index,
            intended_ns: record.intended_ns,
            started_ns: record.started_ns,
            completed_ns: record.completed_ns,
            censored: record.censored.map(number_of),
            censored_at_ns: record.censored_at_ns,
        });
        let place = |when| Place { sample: Some(record.index), at_ns: record.at_ns, when };
        self.push_set(place(BEFORE), &record.before);
        self.push_set(place(AFTER), &record.after);
    }

    fn push_sample(&mut self, fields: &Fields) {
        let samples = &mut self.samples;
        samples.run.push(self.run);
        samples.sample.push(fields.index);
        samples.at_ns.push(fields.at_ns);
        samples.intended_ns.push(fields.intended_ns);
        samples.started_ns.push(fields.started_ns);
        samples.completed_ns.push(fields.completed_ns);
        samples.delay_ns.push(fields.delay_ns());
        samples.censored.0.push(fields.censored.map(i32::from));
        samples.censored_at_ns.push(fields.censored_at_ns);
    }

    fn push_set(&mut self, place: Place, set: &CounterSet) {
        let mut found = Vec::new();
        for (source, counters) in set {
            let source = self.words.sources.number(source);
            found.extend(counters.iter().map(|(name, value)| Counter {
                source,
                name: self.words.counters.number(name),
                value: *value,
            }));
        }
        self.push_counters(place, &found);
    }

    fn push_counters(&mut self, place: Place, found: &[Counter]) {
        let counters = &mut self.counters;
        let len = counters.run.len() + found.len();
        counters.run.resize(len, self.run);
        counters.sample.repeat(place.sample, found.len());
        counters.at_ns.resize(len, place.at_ns);
        counters.when.0.repeat(Some(place.when), found.len());
        for counter in found {
            counters.source.0.push(Some(counter.source as i32));
            counters.counter.0.push(Some(counter.name as i32));
        }
        counters.value.extend(found.iter().map(|counter| counter.value));
    }

    pub(crate) fn readings(&mut self, at_ns: u64, set: &CounterSet) {
        self.push_set(Place { sample: None, at_ns, when: BETWEEN }, set);
    }

    pub(crate) fn histogram(&mut self, record: &HistogramRecord) {
        let place = |when| Place { sample: None, at_ns: record.at_ns, when };
        self.push_set(place(BEFORE), &record.before);
        self.push_set(place(AFTER), &record.after);
        let counts = match record.counts() {
            Ok(counts) => counts,
            Err(error) => return self.event(Some(record.at_ns), UNREADABLE, error.to_string()),
        };
        for (delay_ns, count, censored) in counts {
            self.histograms.run.push(self.run);
            self.histograms.from_ns.push(record.from_ns);
            self.histograms.to_ns.push(record.to_ns);
            self.histograms.delay_ns.push(delay_ns);
            self.histograms.count.push(count);
            let reason = censored.map(|reason| i32::from(number_of(reason)));
            self.histograms.censored.0.push(reason);
        }
    }

    pub(crate) fn work(&mut self, record: WorkRecord) {
        let work = &mut self.work;
        let row = work.len();
        for (guess, (name, value)) in record.usage.iter().enumerate() {
            work.wide.set(row, guess, name, *value);
        }
        work.run.push(self.run);
        work.worker.push(record.worker);
        work.pass.push(record.pass);
        work.item.0.push(Some(self.words.items.number(&record.item) as i32));
        work.started_ns.push(record.started_ns);
        work.completed_ns.push(record.completed_ns);
        work.censored_at_ns.push(record.censored_at_ns);
        work.failure.push(record.failure);
    }

    pub(crate) fn pass(&mut self, record: &PassRecord) {
        let passes = &mut self.passes;
        let row = passes.len();
        for (guess, (name, value)) in record.usage.iter().enumerate() {
            passes.wide.set(row, guess, name, *value);
        }
        passes.run.push(self.run);
        passes.worker.push(record.worker);
        passes.pass.push(record.pass);
        passes.started_ns.push(record.started_ns);
        passes.completed_ns.push(record.completed_ns);
    }

    /// Further totals of what the load delivered.
    pub(crate) fn totals(&mut self, record: &Delivered) {
        let totals = CounterSet::from([(TOTALS.into(), record.totals.clone())]);
        self.push_set(Place { sample: None, at_ns: record.at_ns, when: DELIVERED }, &totals);
    }

    pub(crate) fn phase(&mut self, record: &PhaseRecord) {
        self.event(Some(record.at_ns), PHASE, record.phase.name().to_owned());
    }

    pub(crate) fn warning(&mut self, record: Warning) {
        self.event(Some(record.at_ns), WARNING, record.text);
    }

    /// What something died of; the log stays in the run file.
    pub(crate) fn death(&mut self, record: DeathRecord) {
        self.event(Some(record.at_ns), DEATH, record.cause);
    }

    /// A line of a kind that is not known, as it is.
    pub(crate) fn unknown(&mut self, line: String) {
        self.event(None, UNKNOWN, line);
    }

    fn event(&mut self, at_ns: Option<u64>, event: i32, text: String) {
        self.events.run.push(self.run);
        self.events.at_ns.push(at_ns);
        self.events.event.0.push(Some(event));
        self.events.text.push(Some(text));
    }
}

/// Where counters were read.
#[derive(Clone, Copy)]
struct Place {
    sample: Option<u32>,
    at_ns: u64,
    when: i32,
}

/// What was collected of all files, piece by piece in their order.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    words: Vocabulary,
    samples: Gathered<Samples>,
    counters: Gathered<Counters>,
    histograms: Gathered<Histograms>,
    work: Gathered<Work>,
    passes: Gathered<Passes>,
    events: Gathered<Events>,
}

impl Gathering {
    pub(crate) fn push(&mut self, piece: Collected) {
        let renumbering = self.words.adopt(&piece.words);
        self.samples.push(piece.samples, &renumbering);
        self.counters.push(piece.counters, &renumbering);
        self.histograms.push(piece.histograms, &renumbering);
        self.work.push(piece.work, &renumbering);
        self.passes.push(piece.passes, &renumbering);
        self.events.push(piece.events, &renumbering);
    }

    pub(crate) fn finish(self, runs: Table) -> Result<Frames, ArrowError> {
        let dictionaries = Dictionaries::new(&self.words);
        Ok(Frames {
            runs,
            samples: self.samples.finish(&dictionaries)?,
            counters: self.counters.finish(&dictionaries)?,
            histograms: self.histograms.finish(&dictionaries)?,
            work: self.work.finish(&dictionaries)?,
            passes: self.passes.finish(&dictionaries)?,
            events: self.events.finish(&dictionaries)?,
        })
    }
}
