//! Blocks of a trace and their events.

use trace::{Block, Event};

use super::core::Core;
use super::page_size::PageSize;
use super::simulator::Simulator;
use super::space::{Space, page_range};
use super::translations::Mapped;

impl Simulator {
    /// Runs a block of a trace.
    pub fn block(&mut self, block: &Block) {
        self.switch(block.process, block.thread);
        let mut done = 0;
        for (before, event) in &block.events {
            let next = (*before as usize).clamp(done, block.runs.len());
            self.runs(&block.runs[done..next]);
            done = next;
            self.event(event);
        }
        self.runs(&block.runs[done..]);
    }

    /// Handles an event of the running process.
    pub fn event(&mut self, event: &Event) {
        let process = self.process;
        let (world, cores) = (&mut self.world, &mut self.cores);
        match event {
            Event::Program { .. } | Event::Exit => {
                let gone = *event == Event::Exit;
                *world.space(process) = Space::new(process);
                let outcome = &mut world.outcome;
                cores.iter_mut().for_each(|core| core.flush_process(outcome, process, gone));
            }
            Event::Fork { child } => {
                let inherited = world.space(process).inherited(*child);
                *world.space(*child) = inherited;
                // Its pages become read-only, to be copied on write.
                let outcome = &mut world.outcome;
                cores.iter_mut().for_each(|core| core.flush_process(outcome, process, false));
            }
            Event::Map { address, length_bytes, file, shared } => {
                let (first, end) = page_range(*address, *length_bytes);
                let shareable = (*file || *shared).then(|| world.new_mapping());
                if world.space(process).map(first, end, shareable) {
                    self.unmapped(first, end);
                }
            }
            Event::Unmap { address, length_bytes } => {
                let (first, end) = page_range(*address, *length_bytes);
                world.space(process).unmap(first, end);
                self.unmapped(first, end);
            }
            Event::Break { address } => {
                if let Some((first, end)) = world.space(process).set_break(*address) {
                    self.unmapped(first, end);
                }
            }
            Event::Translation { address, size, is_global } => {
                let size = PageSize::EACH[(*size as usize).min(PageSize::EACH.len() - 1)];
                let mapped = Mapped { size, is_global: *is_global };
                return self.translated(address >> trace::PAGE_SHIFT, mapped);
            }
            Event::Flush { globals_too } => return self.flush_guest(*globals_too),
            Event::FlushPage { address } => {
                return self.flush_guest_page(address >> trace::PAGE_SHIFT);
            }
            Event::ThreadStart | Event::ThreadEnd | Event::Missed { .. } => {}
        }
        // A page may be of another size now.
        self.cores.iter_mut().for_each(Core::forget_last);
    }

    fn unmapped(&mut self, first: u64, end: u64) {
        let outcome = &mut self.world.outcome;
        for core in &mut self.cores {
            if end.saturating_sub(first) > self.flush_ceiling {
                core.flush_process(outcome, self.process, false);
            } else {
                core.flush_pages(outcome, self.process, first, end);
            }
        }
    }
}
