//! What all cores share: address spaces, sizes of pages, guest-physical memory.

use std::collections::BTreeMap;

use super::frames::Frames;
use super::options::{Options, PagePolicy, Share};
use super::outcome::Outcome;
use super::page_size::PageSize;
use super::price::Price;
use super::space::Space;
use super::translations::Mapped;

#[derive(Clone, Debug)]
pub(crate) struct World {
    pages: PagePolicy,
    /// The size of the host's pages, which limits translations in a guest.
    largest: PageSize,
    share: Share,
    spaces: Vec<Space>,
    /// Process to place in `spaces`.
    places: BTreeMap<u32, usize>,
    /// The space of the references.
    current: usize,
    frames: Frames,
    mappings: u32,
    /// The counts of all cores, without those that follow from the references.
    pub(crate) outcome: Outcome,
    /// Short counts of all cores, for references whose pages are looked up one by one.
    pub(crate) price: Price,
    /// Whether page tables of a guest decide the sizes of pages.
    pub(crate) is_guest: bool,
}

impl World {
    /// `outcome` has zeros and all names.
    pub(crate) fn new(options: &Options, outcome: Outcome) -> Self {
        Self {
            pages: options.page_size,
            largest: if options.virtualized { options.host_page_size } else { PageSize::Giant },
            share: options.share,
            spaces: vec![Space::new(0)],
            places: BTreeMap::from([(0, 0)]),
            current: 0,
            frames: Frames::default(),
            mappings: 0,
            outcome,
            price: Price::default(),
            is_guest: false,
        }
    }

    pub(crate) fn switch(&mut self, process: u32) {
        self.current = self.place(process);
    }

    pub(crate) fn space(&mut self, process: u32) -> &mut Space {
        let place = self.place(process);
        &mut self.spaces[place]
    }

    /// The number of a new mapping that can be shared.
    pub(crate) fn new_mapping(&mut self) -> u32 {
        self.mappings += 1;
        self.mappings - 1
    }

    /// The size of all pages, if they have one.
    #[inline]
    fn fixed_size(&self) -> Option<PageSize> {
        match self.pages {
            PagePolicy::Recorded if self.is_guest => None,
            PagePolicy::Recorded | PagePolicy::Small => Some(PageSize::Small),
            PagePolicy::Thp => None,
            PagePolicy::Huge => Some(PageSize::Huge),
            PagePolicy::Giant => Some(PageSize::Giant),
        }
    }

    /// The size of all translations, if they have one size and none of them is shared.
    pub(crate) fn only_size(&self) -> Option<PageSize> {
        let size = self.fixed_size()?.min(self.largest);
        (self.share != Share::Translations).then_some(size)
    }

    /// The size of a page's translation in TLBs.
    #[inline]
    pub(crate) fn in_tlb(&self, size: PageSize) -> PageSize {
        size.min(self.largest)
    }

    /// How a page that was not referred to is mapped; in a guest as the page before.
    pub(crate) fn mapped_next(&mut self, page: u64, before: Mapped) -> Mapped {
        match self.is_guest {
            true => before,
            false => Mapped { size: self.guest_size(page), is_global: false },
        }
    }

    /// Whether sizes of pages are those that a trace of a guest has.
    pub(crate) fn uses_recorded(&self) -> bool {
        self.is_guest && self.pages == PagePolicy::Recorded
    }

    /// The size of a page in its own page table.
    #[inline]
    pub(crate) fn guest_size(&mut self, page: u64) -> PageSize {
        self.fixed_size().unwrap_or_else(|| self.spaces[self.current].size(page))
    }

    /// The tag of a page's translation, `own` unless it is shared.
    #[inline]
    pub(crate) fn tag(&self, own: u64, page: u64, size: PageSize) -> u64 {
        if self.share == Share::Translations {
            self.spaces[self.current].owner(page, size.shift()).tag(own)
        } else {
            own
        }
    }

    /// For a walk: the address space, the frames, whether tables are shared, and the counts.
    pub(crate) fn tables(&mut self) -> (&Space, &mut Frames, bool, &mut Outcome) {
        let is_shared = self.share != Share::None;
        (&self.spaces[self.current], &mut self.frames, is_shared, &mut self.outcome)
    }

    fn place(&mut self, process: u32) -> usize {
        let next = self.spaces.len();
        let place = *self.places.entry(process).or_insert(next);
        if place == next {
            self.spaces.push(Space::new(process));
        }
        place
    }
}
