//! References of a whole guest: its page tables decide the sizes of pages, and the instructions with
//! which it changes them decide when translations are flushed.

use trace::PageRun;

use super::page_size::{PAGE_MASK, PageSize};
use super::price::Price;
use super::simulator::Simulator;
use super::translations::{Mapped, Translations};

impl Simulator {
    /// From here on the references are those of a guest, whose virtual CPUs are the threads.
    pub(crate) fn begin_guest(&mut self) {
        self.world.is_guest = true;
        self.translations = vec![Translations::default(); self.cores.len()];
        self.switch(self.process, self.thread);
    }

    /// What translations cost so far.
    #[inline]
    pub(crate) fn price(&self) -> Price {
        self.world.price
    }

    /// Refers to a page of the guest; `false` if it is not known how it is mapped.
    #[inline]
    pub(crate) fn refer_in_guest(&mut self, page: u64, fetch: bool, count: u64) -> bool {
        let (page, side) = (page & PAGE_MASK, usize::from(fetch));
        let (core, world) = (&mut self.cores[self.active], &mut self.world);
        if core.refer_again(world, page, side, count) {
            return true;
        }
        let Some(mapped) = self.translations[self.active].get(page) else { return false };
        core.refer_mapped(world, page, mapped, side, count);
        true
    }

    /// Refers to pages of the guest in runs of a trace, which has an event before the first
    /// reference to each page.
    pub(crate) fn guest_runs(&mut self, runs: &[PageRun]) {
        for run in runs {
            while !self.refer_in_guest(run.page, run.fetch, u64::from(run.count)) {
                self.translated(run.page, Mapped { size: PageSize::Small, is_global: false });
            }
        }
    }

    /// The virtual CPU has found out how a page is mapped.
    pub(crate) fn translated(&mut self, page: u64, mapped: Mapped) {
        if !self.world.is_guest {
            self.begin_guest();
        }
        self.translations[self.active].insert(page, mapped);
    }

    /// The virtual CPU has flushed its translations, those of global pages too or not.
    pub(crate) fn flush_guest(&mut self, globals_too: bool) {
        if !self.world.is_guest {
            self.begin_guest();
        }
        self.translations[self.active].flush(globals_too);
        self.cores[self.active].flush_spaces(&mut self.world.outcome, globals_too);
    }

    /// The virtual CPU has flushed one page.
    pub(crate) fn flush_guest_page(&mut self, page: u64) {
        if !self.world.is_guest {
            self.begin_guest();
        }
        let page = page & PAGE_MASK;
        self.translations[self.active].flush_page(page);
        self.cores[self.active].flush_mapped(&mut self.world.outcome, page);
    }
}
