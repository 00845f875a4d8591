//! A chunk of a run file: the lines that begin in it, converted to rows.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use blake3::Hasher;
use model::histogram::HistogramError;
use model::{CounterSet, Delivered, End, Header, HistogramRecord, Line, RunError, Values};

use crate::batch::{Batch, Declared};
use crate::checksum::hashed;
use crate::sample_line::{Counter, SampleLine, Vocabulary};
use crate::tables::{COUNTER, COUNTERS, EVENTS, Event, FIGURES, Figure, HISTOGRAMS, HistogramRow};
use crate::tables::{PASSES, Readings, SAMPLES, SOURCE, Table, WORK};

/// Read size for a line beyond its chunk.
const BEYOND_BYTES: usize = 1 << 12;
const TOTALS: &str = "totals";

#[derive(Default)]
pub(crate) struct Scratch {
    bytes: Vec<u8>,
    /// Numbers of samples and counters in the last chunk, as estimates for the next.
    last: [usize; 2],
}

#[derive(Default)]
pub(crate) struct Chunk<'a> {
    run: u32,
    wanted: &'a [Table],
    words: Vocabulary,
    /// The last line, whose expectations are word numbers, which differ by chunk.
    line: SampleLine,
    /// In the order of [`Table::ALL`].
    batches: [Batch; Table::ALL.len()],
    /// Complete lines that begin in it.
    pub(crate) lines: usize,
    pub(crate) header: Option<Header>,
    pub(crate) delivered: Option<Delivered>,
    pub(crate) end: Option<(End, u64)>,
    pub(crate) unreadable: Option<HistogramError>,
    /// Size of a line without a newline.
    pub(crate) truncated_bytes: u64,
    /// The part before an `end` line, for the checksum of the file.
    pub(crate) hashed: Option<Box<Hasher>>,
}

/// An error in a chunk, whose lines are counted from 1.
pub(crate) enum Fault {
    Io(io::Error),
    Line(RunError),
}

impl<'a> Chunk<'a> {
    /// Reads the lines that begin in `range` of a file of `len` bytes into the wanted tables.
    pub(crate) fn read(
        file: &File,
        range: Range<u64>,
        len: u64,
        run: u32,
        wanted: &'a [Table],
        scratch: &mut Scratch,
    ) -> Result<Self, Fault> {
        let batches = Table::ALL.map(Table::batch);
        let mut chunk = Self { run, wanted, batches, ..Self::default() };
        let reserved = [Table::Samples, Table::Counters];
        for (table, rows) in reserved.into_iter().zip(scratch.last) {
            chunk.batches[table as usize].reserve(rows + rows / 16);
        }
        let bytes = &mut scratch.bytes;
        if let Some(first) = fill(file, &range, len, bytes).map_err(Fault::Io)? {
            chunk.lines(bytes, first, &range).map_err(Fault::Line)?;
        }
        scratch.last = reserved.map(|table| chunk.batches[table as usize].rows());
        let end = chunk.end.as_ref().map_or(range.end, |(_, begins)| *begins);
        // The byte before the range is included.
        let first = usize::from(range.start > 0);
        chunk.hashed = hashed(&bytes[first..first + (end - range.start) as usize], range.start);
        Ok(chunk)
    }

    pub(crate) fn into_batches(mut self) -> impl Iterator<Item = (Table, Batch)> + use<'a> {
        let counters = self.batches[Table::Counters as usize].declared();
        for (column, words) in [(SOURCE, self.words.sources), (COUNTER, self.words.counters)] {
            counters[column].set_words(Arc::new(words));
        }
        let of_lines = |table: Table| table != Table::Runs && self.wanted.contains(&table);
        Table::ALL.into_iter().zip(self.batches).filter(move |(table, _)| of_lines(*table))
    }

    fn lines(&mut self, bytes: &[u8], first: usize, range: &Range<u64>) -> Result<(), RunError> {
        let begin = range.start.saturating_sub(1);
        let mut at = first;
        while begin + (at as u64) < range.end {
            let Some(length) = memchr::memchr(b'\n', &bytes[at..]) else {
                self.truncated_bytes = (bytes.len() - at) as u64;
                break;
            };
            let is_first = range.start == 0 && at == 0;
            self.line(&bytes[at..at + length], begin + at as u64, is_first)?;
            at += length + 1;
        }
        Ok(())
    }

    fn line(&mut self, raw: &[u8], offset: u64, is_first: bool) -> Result<(), RunError> {
        self.lines += 1;
        if !is_first && self.end.is_none() && self.line.read(raw, &mut self.words).is_some() {
            self.sample_line();
            return Ok(());
        }
        let parsed = Line::parse_in_run(raw, is_first, self.end.is_some());
        match parsed.map_err(|fault| RunError { line: self.lines, fault })? {
            Line::Header(header) => self.header = Some(*header),
            other => self.other(other, offset),
        }
        Ok(())
    }

    fn other(&mut self, line: Line, offset: u64) {
        match line {
            Line::Sample(record) => {
                self.row(Table::Samples, SAMPLES, &*record, &record.parts);
                let index = Some(record.index);
                self.counters(index, record.at_ns, "before", &record.before);
                self.counters(index, record.at_ns, "after", &record.after);
            }
            Line::Histogram(record) => {
                self.counters(None, record.at_ns, "before", &record.before);
                self.counters(None, record.at_ns, "after", &record.after);
                self.histogram(&record);
            }
            Line::Work(record) => {
                self.row(Table::Work, WORK, &*record, &record.usage);
                for (name, value) in record.figures {
                    let (worker, pass, item) = (record.worker, record.pass, record.item.clone());
                    let figure = Figure { worker, pass, item, name, value };
                    self.row(Table::Figures, FIGURES, &figure, &Values::new());
                }
            }
            Line::Pass(record) => self.row(Table::Passes, PASSES, &*record, &record.usage),
            Line::Counters(record) => {
                self.counters(None, record.at_ns, "between", &record.counters);
            }
            Line::Delivered(record) => {
                let totals = CounterSet::from([(TOTALS.into(), record.totals.clone())]);
                self.counters(None, record.at_ns, "delivered", &totals);
                self.delivered = Some(record);
            }
            Line::Phase(record) => self.event(Some(record.at_ns), "phase", record.phase.name()),
            Line::Warning(record) => self.event(Some(record.at_ns), "warning", record.text),
            // The log stays in the run file.
            Line::Death(record) => self.event(Some(record.at_ns), "death", record.cause),
            Line::Unknown(line) => self.event(None, "unknown", line.to_string()),
            Line::End(record) => self.end = Some((record, offset)),
            Line::Header(_) => {}
        }
    }

    fn sample_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if self.wanted.contains(&Table::Samples) {
            let samples = &mut self.batches[Table::Samples as usize];
            samples.push(self.run, SAMPLES, &line.record, 1);
            let parts = &self.words.parts;
            samples.set(line.parts.iter().map(|(name, value)| (parts.word(*name), *value)));
        }
        let (index, at_ns) = (Some(line.record.index), line.record.at_ns);
        for (when, found) in [("before", &mut line.before), ("after", &mut line.after)] {
            let readings = Readings { sample: index, at_ns, when, found: std::mem::take(found) };
            self.readings(&readings);
            *found = readings.found;
        }
        self.line = line;
    }

    fn row<R>(&mut self, table: Table, declared: &Declared<R>, row: &R, map: &Values) {
        if self.wanted.contains(&table) {
            let batch = &mut self.batches[table as usize];
            batch.push(self.run, declared, row, 1);
            batch.set(map.iter().map(|(name, value)| (name.as_str(), *value)));
        }
    }

    fn counters(&mut self, sample: Option<u32>, at_ns: u64, when: &'static str, set: &CounterSet) {
        let mut found = Vec::new();
        for (source, counters) in set {
            let source = self.words.sources.number(source);
            found.extend(counters.iter().map(|(name, value)| Counter {
                source,
                name: self.words.counters.number(name),
                value: *value,
            }));
        }
        self.readings(&Readings { sample, at_ns, when, found });
    }

    fn readings(&mut self, readings: &Readings) {
        if self.wanted.contains(&Table::Counters) {
            let rows = readings.found.len();
            self.batches[Table::Counters as usize].push(self.run, COUNTERS, readings, rows);
        }
    }

    fn histogram(&mut self, record: &HistogramRecord) {
        if !self.wanted.iter().any(|it| matches!(it, Table::Histograms | Table::Events)) {
            return;
        }
        let (from_ns, to_ns) = (record.from_ns, record.to_ns);
        match record.counts() {
            Ok(counts) => {
                for (delay_ns, count, censored) in counts {
                    let row = HistogramRow { from_ns, to_ns, delay_ns, count, censored };
                    self.row(Table::Histograms, HISTOGRAMS, &row, &Values::new());
                }
            }
            Err(error) => {
                self.event(Some(record.at_ns), "unreadable", error.to_string());
                self.unreadable.get_or_insert(error);
            }
        }
    }

    fn event(&mut self, at_ns: Option<u64>, event: &'static str, text: impl Into<String>) {
        let row = Event { at_ns, event, text: text.into() };
        self.row(Table::Events, EVENTS, &row, &Values::new());
    }
}

/// Reads from the byte before the range (a newline, if a line begins with the range) to the end of
/// the last line that begins in it. Returns where the first line begins in `bytes`, if any does.
fn fill(
    file: &File,
    range: &Range<u64>,
    len: u64,
    bytes: &mut Vec<u8>,
) -> io::Result<Option<usize>> {
    let begin = range.start.saturating_sub(1);
    let wanted = (range.end - begin) as usize;
    bytes.resize(wanted, 0);
    file.read_exact_at(bytes, begin)?;
    let first = match range.start {
        0 => 0,
        // A newline as the last byte of the range begins a line of the next one.
        _ => match memchr::memchr(b'\n', &bytes[..wanted - 1]) {
            Some(newline) => newline + 1,
            None => return Ok(None),
        },
    };
    let mut more = BEYOND_BYTES;
    while bytes.last() != Some(&b'\n') && begin + (bytes.len() as u64) < len {
        let old = bytes.len();
        more = (2 * more).min((len - begin) as usize - old);
        bytes.resize(old + more, 0);
        file.read_exact_at(&mut bytes[old..], begin + old as u64)?;
        if let Some(newline) = memchr::memchr(b'\n', &bytes[old..]) {
            bytes.truncate(old + newline + 1);
        }
    }
    Ok(Some(first))
}
