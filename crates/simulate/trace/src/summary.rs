//! What is in a trace, in figures.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::pages::PageSet;
use crate::{Access, Block, Event};

const REASONS: usize = 8;
const MOST_PROGRAMS: u64 = 256;
/// Most threads counted individually.
const MOST_THREADS: usize = 1 << 16;

/// What is in a trace, in figures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Pieces of one thread in a row.
    pub blocks: u64,
    /// All references.
    pub references: u64,
    /// Runs of references to one page.
    pub runs: u64,
    /// References that read data; absent if only pages were recorded.
    pub loads: Option<u64>,
    /// References that write data; absent if only pages were recorded.
    pub stores: Option<u64>,
    /// References that fetch instructions.
    pub fetches: u64,
    /// Distinct pages of all processes.
    pub pages: u64,
    /// Distinct pages with data references.
    pub data_pages: u64,
    /// Pages of which instructions were fetched.
    pub fetched_pages: u64,
    /// Pages that were written.
    pub written_pages: u64,
    /// References of each process and thread.
    pub threads: BTreeMap<u32, BTreeMap<u32, u64>>,
    /// How often the next block is of another thread.
    pub switches: u64,
    /// What each process ran, first to last; of the first 256 programs.
    pub programs: BTreeMap<u32, Vec<String>>,
    /// Events by kind.
    pub events: EventCounts,
    /// Why things were missed, the first few.
    pub missed: Vec<String>,
    /// When the last block was recorded, in nanoseconds from the beginning; absent if not recorded.
    pub duration_ns: Option<u64>,
    /// Blocks that were recorded earlier than the block before them.
    pub out_of_order: u64,
    #[serde(skip)]
    seen: PageSet,
    #[serde(skip)]
    last_thread: Option<(u32, u32)>,
    #[serde(skip)]
    last_ns: Option<u64>,
    #[serde(skip)]
    threads_counted: usize,
}

/// How many events there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventCounts {
    /// Programs begun.
    pub programs: u64,
    /// Threads begun.
    pub thread_starts: u64,
    /// Threads ended.
    pub thread_ends: u64,
    /// Processes created.
    pub forks: u64,
    /// Processes ended.
    pub exits: u64,
    /// Mappings created.
    pub maps: u64,
    /// Mappings removed.
    pub unmaps: u64,
    /// Moves of the heap's end.
    pub breaks: u64,
    /// Things that could not be recorded.
    pub missed: u64,
    /// Translations that page tables of a guest have.
    pub translations: u64,
    /// Flushes of translations in a guest.
    pub flushes: u64,
}

impl Summary {
    /// Counts a block, which has to have its references if they are known.
    pub fn add(&mut self, block: &Block) {
        let count = |fetch: bool| -> u64 {
            let of_kind = block.runs.iter().filter(|run| run.fetch == fetch);
            of_kind.map(|run| u64::from(run.count)).sum()
        };
        let (data, fetches) = (count(false), count(true));
        if data > 0 || !block.references.is_empty() {
            self.count_data(block, data);
        }
        self.blocks += 1;
        self.runs += block.runs.len() as u64;
        self.references += data + fetches;
        self.fetches += fetches;
        self.seen.add(block.process, &block.runs);
        self.count_thread(block, data + fetches);
        for (_, event) in &block.events {
            self.count_event(block.process, event);
        }
    }

    /// Counts the distinct pages of what was added.
    pub fn finish(&mut self) {
        [self.pages, self.data_pages, self.fetched_pages, self.written_pages] = self.seen.count();
        if self.fetches == self.references {
            (self.loads, self.stores) = (Some(0), Some(0));
        }
    }

    /// Counts loads and stores, unless some data references are unknown.
    fn count_data(&mut self, block: &Block, data: u64) {
        let is_store = |reference: &&crate::Reference| reference.access() == Access::Store;
        let stores = block.references.iter().filter(is_store).count() as u64;
        let all_known = self.loads.is_some() || self.fetches == self.references;
        let known = (all_known && !block.references.is_empty())
            .then(|| (self.loads.unwrap_or(0) + data - stores, self.stores.unwrap_or(0) + stores));
        (self.loads, self.stores) = known.unzip();
    }

    fn count_thread(&mut self, block: &Block, references: u64) {
        let thread = (block.process, block.thread);
        let before = self.last_thread.replace(thread);
        self.switches += u64::from(before.is_some_and(|before| before != thread));
        let (process, thread) = thread;
        let is_counted = self.threads.get(&process).is_some_and(|of| of.contains_key(&thread));
        if is_counted || self.threads_counted < MOST_THREADS {
            self.threads_counted += usize::from(!is_counted);
            *self.threads.entry(process).or_default().entry(thread).or_default() += references;
        }
        if let Some(at_ns) = block.at_ns {
            let before = self.last_ns.replace(at_ns);
            self.out_of_order += u64::from(before.is_some_and(|before| before > at_ns));
            self.duration_ns = self.duration_ns.max(Some(at_ns));
        }
    }

    fn count_event(&mut self, process: u32, event: &Event) {
        let counts = &mut self.events;
        let count = match event {
            Event::Program { command } => {
                if counts.programs < MOST_PROGRAMS {
                    self.programs.entry(process).or_default().push(command.clone());
                }
                &mut counts.programs
            }
            Event::ThreadStart => &mut counts.thread_starts,
            Event::ThreadEnd => &mut counts.thread_ends,
            Event::Fork { .. } => &mut counts.forks,
            Event::Exit => &mut counts.exits,
            Event::Map { .. } => &mut counts.maps,
            Event::Unmap { .. } => &mut counts.unmaps,
            Event::Break { .. } => &mut counts.breaks,
            Event::Translation { .. } => &mut counts.translations,
            Event::Flush { .. } | Event::FlushPage { .. } => &mut counts.flushes,
            Event::Missed { reason } => {
                if self.missed.len() < REASONS && !self.missed.contains(reason) {
                    self.missed.push(reason.clone());
                }
                &mut counts.missed
            }
        };
        *count += 1;
    }
}
