//! Translations of a guest as its own page tables have them, per virtual CPU, until they are flushed.

use super::page_size::{PAGE_MASK, PageSize};

/// Pages that are remembered, by the lowest bits of their numbers (docs/trace-format.md has it too).
const REMEMBERED: usize = 1 << 12;
/// A place that was never filled.
const FREE: Remembered =
    Remembered { page: 0, age: 0, mapped: Mapped { size: PageSize::Small, is_global: false } };

/// How page tables map a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub(crate) size: PageSize,
    /// Whether its translation survives a change of the address space.
    pub(crate) is_global: bool,
}

#[derive(Clone, Copy, Debug)]
struct Remembered {
    page: u64,
    /// Valid while it is that of the table.
    age: u64,
    mapped: Mapped,
}

#[derive(Clone, Debug)]
pub(crate) struct Translations {
    places: Box<[Remembered; REMEMBERED]>,
    /// By whether translations are global: how often they were flushed, from 1.
    ages: [u64; 2],
}

impl Default for Translations {
    fn default() -> Self {
        Self { places: Box::new([FREE; REMEMBERED]), ages: [1; 2] }
    }
}

impl Translations {
    #[inline]
    pub(crate) fn get(&self, page: u64) -> Option<Mapped> {
        let place = &self.places[page as usize % REMEMBERED];
        let is_valid = place.page == page && place.age == self.age(place.mapped);
        is_valid.then_some(place.mapped)
    }

    pub(crate) fn insert(&mut self, page: u64, mapped: Mapped) {
        let page = page & PAGE_MASK;
        let age = self.age(mapped);
        self.places[page as usize % REMEMBERED] = Remembered { page, age, mapped };
    }

    /// Forgets all, or those that are not global.
    pub(crate) fn flush(&mut self, globals_too: bool) {
        self.ages[0] += 1;
        self.ages[1] += u64::from(globals_too);
    }

    /// Forgets one page: a small one by itself; of a large one, or where it is unknown, all.
    pub(crate) fn flush_page(&mut self, page: u64) {
        match self.get(page) {
            Some(Mapped { size: PageSize::Small, .. }) => {
                self.places[page as usize % REMEMBERED] = FREE;
            }
            _ => self.flush(true),
        }
    }

    #[inline]
    fn age(&self, mapped: Mapped) -> u64 {
        self.ages[usize::from(mapped.is_global)]
    }
}
