//! Recorded programs, run again on a Sun-4, in one or several copies at a time (docs/mmu-mixes.md).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::mem::take;
use std::sync::Arc;

use ::trace::{Block, Event, PageRun, Source, TraceError};

use super::image::{FIRST_FILE, LOWER_END, UPPER};
use crate::machine::SEGMENT_BYTES;
use crate::program::{Backing, Layout, Path, Program, Region, Scene, Start, Step, Visit};
use crate::setup::Setup;

/// No machine has fewer pmegs for a process that runs, so no fault is lost by gathering these.
const SEGMENTS_TOGETHER: usize = 8;
const REFERENCES_TOGETHER: u64 = 1 << 16;
/// References in the time of one touch.
const REFERENCES_A_TOUCH: u64 = 16;
/// Pages of a trace in a segment.
const PAGES_BITS: u32 = (SEGMENT_BYTES >> ::trace::PAGE_SHIFT).trailing_zeros();
/// Segments of a half of the address space.
const HALF: u64 = LOWER_END / SEGMENT_BYTES;
/// All of both halves is available, as no stack is laid out.
const MOST_SEGMENTS: usize = 2 * HALF as usize;

/// A recorded program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceProgram {
    /// Number of copies at the same time.
    pub copies: u64,
    /// References read from the trace.
    pub references: u64,
    /// Visits of segments.
    pub visits: u64,
    /// Why the rest of the trace was omitted, if it was.
    pub cut: Option<String>,
    /// Processes by their number in the trace.
    processes: BTreeMap<u32, Vec<Action>>,
    /// Processes without a parent in the trace.
    first: Vec<u32>,
    /// Pages of each segment that are used, and those that are written.
    pages: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Exec,
    Fork(u32),
    /// Segments, pages of 4096 bytes in them, and how often each is touched.
    Touch(Vec<(u32, u64, u64)>, bool),
}

#[derive(Clone, Copy, Debug, Default)]
struct Gathered {
    segment: u32,
    read: u64,
    written: u64,
    references: u64,
}

#[derive(Clone, Debug, Default)]
struct Bundle {
    segments: Vec<Gathered>,
    references: u64,
}

impl Bundle {
    /// Its touches, those that read before those that write.
    fn actions(&mut self) -> impl Iterator<Item = Action> + use<> {
        let segments = take(&mut self.segments);
        self.references = 0;
        [false, true].into_iter().filter_map(move |is_write| {
            let visits: Vec<(u32, u64, u64)> = segments
                .iter()
                .filter_map(|of| {
                    let pages = if is_write { of.written } else { of.read & !of.written };
                    let all = u64::from((of.read | of.written).count_ones());
                    let touches = of.references.div_ceil(REFERENCES_A_TOUCH).div_ceil(all.max(1));
                    (pages != 0).then_some((of.segment, pages, touches))
                })
                .collect();
            (!visits.is_empty()).then_some(Action::Touch(visits, is_write))
        })
    }
}

#[derive(Default)]
struct Taker {
    program: TraceProgram,
    bundles: BTreeMap<u32, Bundle>,
    folded: BTreeMap<u64, u32>,
    most_visits: u64,
}

impl TraceProgram {
    /// Copies of a trace at the same time, with at most about `most` visits (50 to 100 bytes each);
    /// [`TraceProgram::note`] reports an omitted rest. Fails when the trace cannot be read.
    pub fn take(source: &mut dyn Source, copies: u64, most: u64) -> Result<Self, TraceError> {
        let mut taker = Taker { most_visits: most, ..Taker::default() };
        taker.program.copies = copies.max(1);
        let mut block = Block::default();
        while taker.program.cut.is_none() && source.next(&mut block)? {
            taker.block(&block);
        }
        let mut rest = take(&mut taker.bundles);
        rest.iter_mut().for_each(|(process, bundle)| taker.close(*process, bundle));
        Ok(taker.program)
    }

    /// A sentence on the omitted rest, without its dot.
    pub fn note(&self) -> Option<String> {
        let cut = self.cut.as_ref()?;
        Some(format!("only the first {} references of the trace were run: {cut}", self.references))
    }
}

impl Taker {
    fn block(&mut self, block: &Block) {
        let process = block.process;
        if let Entry::Vacant(entry) = self.program.processes.entry(process) {
            entry.insert(Vec::new());
            self.program.first.push(process);
        }
        let mut bundle = self.bundles.remove(&process).unwrap_or_default();
        let mut events = block.events.iter().peekable();
        for (index, run) in block.runs.iter().enumerate() {
            while let Some((_, event)) = events.next_if(|(at, _)| *at as usize <= index) {
                self.event(process, event, &mut bundle);
            }
            if !self.run(process, run, &mut bundle) {
                break;
            }
        }
        events.for_each(|(_, event)| self.event(process, event, &mut bundle));
        self.bundles.insert(process, bundle);
    }

    fn event(&mut self, process: u32, event: &Event, bundle: &mut Bundle) {
        let action = match event {
            Event::Program { .. } => Action::Exec,
            Event::Fork { child } => {
                // A child that ran before its fork has no parent.
                if self.program.processes.contains_key(child) {
                    return;
                }
                self.program.processes.insert(*child, Vec::new());
                Action::Fork(*child)
            }
            _ => return,
        };
        self.close(process, bundle);
        self.push(process, action);
    }

    /// Adds a run; returns whether there was room.
    fn run(&mut self, process: u32, run: &PageRun, bundle: &mut Bundle) -> bool {
        let known = self.folded.len();
        let segment = *self.folded.entry(run.page >> PAGES_BITS).or_insert(known as u32);
        if segment as usize >= MOST_SEGMENTS {
            self.program.cut.get_or_insert(format!(
                "it uses more than the {MOST_SEGMENTS} segments of a Sun-4's address space"
            ));
            return false;
        }
        if segment as usize == self.program.pages.len() {
            self.program.pages.push((0, 0));
        }
        let found = bundle.segments.iter().position(|of| of.segment == segment);
        let is_full = bundle.references >= REFERENCES_TOGETHER
            || (found.is_none() && bundle.segments.len() == SEGMENTS_TOGETHER);
        if is_full {
            self.close(process, bundle);
            if self.program.visits >= self.most_visits {
                self.program
                    .cut
                    .get_or_insert(format!("there is room for {} visits", self.most_visits));
                return false;
            }
        }
        let index = found.filter(|_| !is_full).unwrap_or(bundle.segments.len());
        if index == bundle.segments.len() {
            bundle.segments.push(Gathered { segment, ..Gathered::default() });
        }
        let of = &mut bundle.segments[index];
        let page = 1 << (run.page & ((1 << PAGES_BITS) - 1));
        of.read |= page;
        of.written |= if run.written { page } else { 0 };
        of.references += u64::from(run.count);
        bundle.references += u64::from(run.count);
        self.program.references += u64::from(run.count);
        let pages = &mut self.program.pages[segment as usize];
        *pages = (pages.0 | page, pages.1 | of.written & page);
        true
    }

    fn close(&mut self, process: u32, bundle: &mut Bundle) {
        for action in bundle.actions() {
            if let Action::Touch(visits, _) = &action {
                self.program.visits += visits.len() as u64;
            }
            self.push(process, action);
        }
    }

    fn push(&mut self, process: u32, action: Action) {
        self.program.processes.entry(process).or_default().push(action);
    }
}

/// A program for each process of the trace, which all copies use.
pub(super) fn scene(program: &TraceProgram, setup: &Setup) -> Scene {
    let page_bytes = setup.machine.mmu.page_bytes;
    // The regions are segments of their own.
    let layout = Layout::new(page_bytes, regions(program, page_bytes)).unwrap_or_default();
    let layout = Arc::new(layout);
    let number = |process: &u32| {
        program.processes.keys().position(|known| known == process).unwrap_or_default()
    };
    let programs = program.processes.iter().map(|(process, actions)| {
        let is_first = program.first.contains(process);
        let needs_exec = is_first && !matches!(actions.first(), Some(Action::Exec));
        let forks = actions.iter().filter(|action| matches!(action, Action::Fork(_))).count();
        let mut steps: Vec<Step> = needs_exec.then_some(Step::Exec).into_iter().collect();
        steps.extend(actions.iter().map(|action| match action {
            Action::Exec => Step::Exec,
            Action::Fork(child) => Step::Fork(number(child)),
            Action::Touch(visits, is_write) => touch(visits, *is_write, page_bytes),
        }));
        steps.extend(std::iter::repeat_n(Step::Wait, forks));
        Program {
            name: format!("process {process}"),
            layout: Arc::clone(&layout),
            // Its stack is unknown.
            resume: None,
            steps,
            is_measured: true,
        }
    });
    let programs: Vec<Program> = programs.collect();
    let start = |process| Start { program: number(process), at_ns: 0, is_awaited: true };
    let starts = (0..program.copies).flat_map(|_| program.first.iter().map(start)).collect();
    Scene { programs, starts }
}

/// Pages of a trace as pages of the machine.
fn fold(pages: u64, page_bytes: u64) -> u64 {
    let together = page_bytes >> ::trace::PAGE_SHIFT;
    if together <= 1 {
        return pages;
    }
    let one = if together >= 64 { u64::MAX } else { (1 << together) - 1 };
    (0..64 / together).filter(|at| pages >> (at * together) & one != 0).map(|at| 1 << at).sum()
}

fn touch(visits: &[(u32, u64, u64)], is_write: bool, page_bytes: u64) -> Step {
    let visits: Vec<Visit> = visits
        .iter()
        .map(|(slot, pages, touches_a_page)| Visit {
            slot: *slot,
            pages: fold(*pages, page_bytes),
            touches_a_page: *touches_a_page,
        })
        .collect();
    let touches = visits.iter().map(Visit::touches).sum();
    Step::Touch(Arc::new(Path { visits, touches, is_write }), 1)
}

/// Each page as a region: segments in the order of first use, from address 0 and after the hole.
fn regions(program: &TraceProgram, page_bytes: u64) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    for (index, (used, written)) in (0_u64..).zip(&program.pages) {
        let start = if index < HALF {
            index * SEGMENT_BYTES
        } else {
            UPPER + (index - HALF) * SEGMENT_BYTES
        };
        let (used, written) = (fold(*used, page_bytes), fold(*written, page_bytes));
        for page in (0..64).filter(|page| used >> page & 1 == 1) {
            let is_written = written >> page & 1 == 1;
            let backing = if is_written { Backing::Zero } else { Backing::Text(FIRST_FILE) };
            let region = Region { start: start + page * page_bytes, bytes: page_bytes, backing };
            match regions.last_mut() {
                Some(last)
                    if last.start + last.bytes == region.start && last.backing == backing =>
                {
                    last.bytes += page_bytes;
                }
                _ => regions.push(region),
            }
        }
    }
    regions
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
