//! Records of another tool, put together to blocks.

use super::supply::Supply;
use crate::{
    Access, BadRecords, Block, Columns, Event, Notes, PageRun, Place, REFERENCES_PER_BLOCK,
    Reference, Source, TraceError,
};

/// What a record tells.
pub(crate) enum Item {
    Reference(Reference),
    Event(Event),
}

/// What a record tells, and of which thread.
pub(crate) struct Record {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) item: Item,
}

impl Record {
    /// A reference of a program that has one thread, or whose threads are not told.
    pub(crate) fn single(reference: Reference) -> Self {
        Self { process: 0, thread: 0, item: Item::Reference(reference) }
    }
}

/// A format's records, one by one.
pub(crate) trait Records {
    /// The next record that can be understood; `None` at the end. Others are counted.
    fn next(
        &mut self,
        supply: &mut Supply,
        tally: &mut Tally,
    ) -> Result<Option<Record>, TraceError>;
}

/// How many records were read, and which were bad.
#[derive(Default)]
pub(crate) struct Tally {
    records: u64,
    bad: BadRecords,
}

impl Tally {
    /// Counts a record that was understood.
    pub(crate) fn good(&mut self) {
        self.records += 1;
    }

    /// Counts one that was not.
    pub(crate) fn bad(
        &mut self,
        place: Place,
        reason: impl Into<String>,
    ) -> Result<(), TraceError> {
        self.records += 1;
        self.bad.add(place, reason, self.records)
    }
}

/// Puts records together to blocks.
pub(crate) struct Importer<R> {
    records: R,
    supply: Supply,
    columns: Columns,
    tally: Tally,
    /// A record of the next block.
    waiting: Option<Record>,
    /// References so far.
    first: u64,
    ended: bool,
}

impl<R: Records> Importer<R> {
    pub(crate) fn new(records: R, supply: Supply, columns: Columns) -> Self {
        let tally = Tally::default();
        Self { records, supply, columns, tally, waiting: None, first: 0, ended: false }
    }

    fn take(&mut self) -> Result<Option<Record>, TraceError> {
        if self.waiting.is_some() || self.ended {
            return Ok(self.waiting.take());
        }
        let record = self.records.next(&mut self.supply, &mut self.tally);
        self.ended = !matches!(record, Ok(Some(_)));
        record
    }
}

impl<R: Records> Source for Importer<R> {
    fn next(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        block.runs.clear();
        block.references.clear();
        block.events.clear();
        let Some(mut record) = self.take()? else { return Ok(false) };
        (block.process, block.thread, block.first) = (record.process, record.thread, self.first);
        block.at_ns = None;
        let mut open = false;
        let mut count = 0;
        loop {
            match record.item {
                Item::Reference(reference) => {
                    add(block, reference, open);
                    if self.columns == Columns::References {
                        block.references.push(reference);
                    }
                    (open, count) = (true, count + 1);
                }
                Item::Event(event) => {
                    block.events.push((block.runs.len() as u32, event));
                    open = false;
                }
            }
            if count == REFERENCES_PER_BLOCK || block.events.len() == 1 << 12 {
                break;
            }
            let Some(next) = self.take()? else { break };
            if (next.process, next.thread) != (block.process, block.thread) {
                self.waiting = Some(next);
                break;
            }
            record = next;
        }
        self.first += u64::from(count);
        Ok(true)
    }

    fn notes(&self) -> Notes {
        Notes {
            bad: self.tally.bad.clone(),
            cut_off: self.supply.cut_off().cloned(),
            ..Notes::default()
        }
    }

    fn read_bytes(&self) -> u64 {
        self.supply.read_bytes()
    }
}

/// Adds a reference to the last run of a block if that is open and of its page and kind.
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
