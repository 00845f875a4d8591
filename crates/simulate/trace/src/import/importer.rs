//! Records of another tool, assembled into blocks.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use super::decompressed::Decompressed;
use crate::{
    Access, BadRecords, Block, Event, Granularity, Notes, PageRun, REFERENCES_PER_BLOCK, Reference,
    Source, TraceError,
};

const LONGEST_LINE_BYTES: usize = 4096;

pub(crate) enum Item {
    Reference(Reference),
    Event(Event),
}

pub(crate) struct Record {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) item: Item,
}

impl From<Reference> for Record {
    /// A reference of a program with one thread, or with unknown threads.
    fn from(reference: Reference) -> Self {
        Self { process: 0, thread: 0, item: Item::Reference(reference) }
    }
}

/// Records that are in no block yet.
pub(crate) type Queue = VecDeque<Record>;
/// Why a record is bad.
pub(crate) type Fault = &'static str;
/// Parses a record, given its number from 1; may yield nothing.
pub(crate) type Take = Box<dyn FnMut(&[u8], u64, &mut Queue) -> Result<(), Fault> + Send>;

pub(crate) struct Records {
    /// Their length; `None` for lines.
    pub(crate) bytes: Option<usize>,
    pub(crate) take: Take,
}

/// A file whose start was already read.
pub(crate) type Supply = Chain<Cursor<Vec<u8>>, BufReader<Decompressed>>;

pub(crate) struct Importer {
    supply: Supply,
    records: Records,
    columns: Granularity,
    /// The last record, its number from 1, and the count of empty lines.
    record: Vec<u8>,
    number: u64,
    empty: u64,
    queue: Queue,
    bad: BadRecords,
    cut_off: Option<String>,
    ended: bool,
    first: u64,
}

impl Importer {
    pub(crate) fn new(records: Records, supply: Supply, columns: Granularity) -> Self {
        Self {
            supply,
            records,
            columns,
            record: Vec::new(),
            number: 0,
            empty: 0,
            queue: Queue::new(),
            bad: BadRecords::default(),
            cut_off: None,
            ended: false,
            first: 0,
        }
    }

    /// Reads until there is a record; `false` at the end. Counts bad records.
    fn fill(&mut self) -> Result<bool, TraceError> {
        while self.queue.is_empty() {
            if self.ended {
                return Ok(false);
            }
            // An error ends the trace too.
            self.ended = true;
            let Some(is_too_long) = self.cut()? else { return Ok(false) };
            self.number += 1;
            let mut outcome = (self.records.take)(&self.record, self.number, &mut self.queue);
            let is_reference = |it: &Record| matches!(it.item, Item::Reference(_));
            // A cut command line is fine, a cut reference is not.
            if is_too_long && (outcome.is_err() || self.queue.iter().any(is_reference)) {
                self.queue.clear();
                outcome = Err("a line of more than 4096 bytes");
            }
            match outcome {
                Ok(()) => self.empty += u64::from(self.queue.is_empty()),
                Err(fault) => {
                    let place = match self.records.bytes {
                        Some(length) => format!("byte {}", (self.number - 1) * length as u64),
                        None => format!("line {}", self.number),
                    };
                    self.bad.add(place, fault, self.number - self.empty)?;
                }
            }
            self.ended = false;
        }
        Ok(true)
    }

    /// Reads a record; returns whether it is a too long line, `None` at the end.
    fn cut(&mut self) -> io::Result<Option<bool>> {
        self.record.clear();
        let Some(length) = self.records.bytes else {
            let most = LONGEST_LINE_BYTES as u64 + 1;
            if (&mut self.supply).take(most).read_until(b'\n', &mut self.record)? == 0 {
                return Ok(None);
            }
            self.record.pop_if(|byte| *byte == b'\n');
            let is_too_long = self.record.len() > LONGEST_LINE_BYTES;
            if is_too_long {
                self.supply.skip_until(b'\n')?;
            }
            self.record.pop_if(|byte| *byte == b'\r');
            return Ok(Some(is_too_long));
        };
        let read = (&mut self.supply).take(length as u64).read_to_end(&mut self.record)?;
        if (1..length).contains(&read) {
            self.cut_off = Some(format!("byte {}", self.number * length as u64));
        }
        Ok((read == length).then_some(false))
    }
}

impl Source for Importer {
    fn next(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        block.runs.clear();
        block.references.clear();
        block.events.clear();
        (block.first, block.at_ns) = (self.first, None);
        let (mut open, mut count) = (false, 0);
        while count < REFERENCES_PER_BLOCK && block.events.len() < 1 << 12 && self.fill()? {
            let is_first = count == 0 && block.events.is_empty();
            let of = |record: &Record| (record.process, record.thread);
            let Some(record) = self.queue.pop_front() else { break };
            if !is_first && of(&record) != (block.process, block.thread) {
                self.queue.push_front(record);
                break;
            }
            (block.process, block.thread) = of(&record);
            match record.item {
                Item::Reference(reference) => {
                    add(block, reference, open);
                    if self.columns == Granularity::Reference {
                        block.references.push(reference);
                    }
                    (open, count) = (true, count + 1);
                }
                Item::Event(event) => {
                    block.events.push((block.runs.len() as u32, event));
                    open = false;
                }
            }
        }
        self.first += u64::from(count);
        Ok(count > 0 || !block.events.is_empty())
    }

    fn notes(&self) -> Notes {
        let of_file = || Some(format!("byte {}", self.supply.get_ref().1.get_ref().cut_off()?));
        let cut_off = of_file().or_else(|| self.cut_off.clone());
        Notes { bad: self.bad.clone(), cut_off, ..Notes::default() }
    }

    fn read_bytes(&self) -> u64 {
        self.supply.get_ref().1.get_ref().read_bytes()
    }
}

/// Adds a reference to an open run of its page and kind, or starts one.
fn add(block: &mut Block, reference: Reference, open: bool) {
    let page = reference.page();
    let fetch = reference.access() == Access::Fetch;
    let written = reference.access() == Access::Store;
    match block.runs.last_mut() {
        Some(run) if open && run.page == page && run.fetch == fetch => {
            run.count += 1;
            run.written |= written;
        }
        _ => block.runs.push(PageRun { page, count: 1, fetch, written }),
    }
}
