//! Entries, pmegs, contexts: plain lists of pages, all searched.

use std::sync::Arc;

use rand_pcg::Pcg64Mcg;

use crate::hat::Prices;
use crate::log::Event;
use crate::outcome::HatCounts;
use crate::program::{Layout, Region};
use crate::setup::Setup;
use crate::system::{ContextPolicy, Reload};

const PAGES: usize = 64;
/// Pages of a segment that have some property.
pub(super) type Set = [bool; PAGES];
pub(super) const NONE: Set = [false; PAGES];

fn set(bits: u64) -> Set {
    std::array::from_fn(|page| bits >> page & 1 == 1)
}

#[derive(Clone)]
pub(super) struct Group {
    pub(super) identity: Option<Vec<Region>>,
    pub(super) valid: Set,
    pub(super) writable: Set,
    pub(super) kept: Set,
    pub(super) kept_writable: Set,
    pub(super) has_copy: bool,
}

#[derive(Clone)]
pub(super) struct Segment {
    pub(super) group: usize,
    pub(super) existing: Set,
    pub(super) shared_until_written: Set,
    pub(super) private: Set,
    pub(super) region: u16,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Frame {
    pub(super) group: Option<usize>,
    pub(super) loaded: u64,
    pub(super) faulted: u64,
    pub(super) visited: u64,
}

pub(super) struct Hat {
    pub(super) setup: Setup,
    pub(super) prices: Prices,
    pub(super) counts: HatCounts,
    pub(super) faults: u64,
    pub(super) steals: u64,
    pub(super) loads: u64,
    pub(super) software_steals: u64,
    pub(super) events: Vec<Event>,
    pub(super) groups: Vec<Group>,
    /// Segments of each address space.
    pub(super) spaces: Vec<Vec<Segment>>,
    /// Address space that holds each context, and when it last ran.
    pub(super) contexts: Vec<Option<(usize, u64)>>,
    pub(super) rover: usize,
    pub(super) frames: Vec<Frame>,
    /// Free pmegs; the last is taken first.
    pub(super) free: Vec<usize>,
    pub(super) hand: usize,
    pub(super) smegs: Vec<Option<(usize, u16)>>,
    pub(super) smeg_hand: usize,
    /// Single entries, those that were filled first in front.
    pub(super) entries: Vec<(usize, usize)>,
    pub(super) copies: Vec<usize>,
    pub(super) copies_hand: usize,
    pub(super) time: u64,
    pub(super) rng: Pcg64Mcg,
}

impl Hat {
    pub(super) fn new(setup: &Setup, rng: Pcg64Mcg) -> Self {
        let frames = (setup.machine.mmu.pmegs - setup.machine.mmu.reserved_pmegs) as usize;
        Self {
            setup: setup.clone(),
            prices: Prices::new(setup),
            counts: HatCounts::default(),
            faults: 0,
            steals: 0,
            loads: 0,
            software_steals: 0,
            events: Vec::new(),
            groups: Vec::new(),
            spaces: Vec::new(),
            contexts: vec![None; setup.machine.mmu.contexts as usize - 1],
            rover: 0,
            frames: vec![Frame::default(); frames],
            free: (0..frames).rev().collect(),
            hand: 0,
            smegs: vec![None; setup.machine.mmu.smegs as usize],
            smeg_hand: 0,
            entries: Vec::new(),
            copies: Vec::new(),
            copies_hand: 0,
            time: 0,
            rng,
        }
    }

    fn has_store(&self) -> bool {
        matches!(self.setup.system.reload, Reload::Walk | Reload::Entry)
    }

    pub(super) fn tick(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    pub(super) fn has_context(&self, space: usize) -> bool {
        self.contexts.iter().flatten().any(|(holder, _)| *holder == space)
    }

    /// Address spaces that use a group.
    fn users(&self, group: usize) -> Vec<usize> {
        let uses = |space: &usize| self.spaces[*space].iter().any(|of| of.group == group);
        (0..self.spaces.len()).filter(uses).collect()
    }

    pub(super) fn is_idle(&self, group: usize) -> bool {
        !self.users(group).into_iter().any(|space| self.has_context(space))
    }

    fn frame_of(&self, group: usize) -> Option<usize> {
        self.frames.iter().position(|frame| frame.group == Some(group))
    }

    fn mapped(&self, space: usize) -> u64 {
        self.spaces[space].iter().filter(|of| self.frame_of(of.group).is_some()).count() as u64
    }

    pub(super) fn add_space(&mut self) {
        self.spaces.push(Vec::new());
    }

    fn new_group(&mut self, identity: Option<Vec<Region>>) -> usize {
        self.groups.push(Group {
            identity,
            valid: NONE,
            writable: NONE,
            kept: NONE,
            kept_writable: NONE,
            has_copy: false,
        });
        self.groups.len() - 1
    }

    pub(super) fn exec(&mut self, space: usize, layout: &Arc<Layout>) {
        self.leave(space);
        for (pages, region) in layout.pages.iter().zip(layout.regions()) {
            let identity = pages.identity.clone().filter(|_| self.setup.system.sharing);
            // An identical segment that is in use.
            let known = (0..self.groups.len()).find(|group| {
                identity.is_some()
                    && self.groups[*group].identity == identity
                    && !self.users(*group).is_empty()
            });
            let group = known.unwrap_or_else(|| self.new_group(identity));
            self.spaces[space].push(Segment {
                group,
                existing: set(pages.existing),
                shared_until_written: set(pages.existing & pages.private),
                private: set(pages.private),
                region,
            });
        }
    }

    fn leave(&mut self, space: usize) {
        let gone = std::mem::take(&mut self.spaces[space]);
        for segment in gone {
            if self.users(segment.group).is_empty() {
                self.forget(segment.group);
            }
        }
    }

    /// Frees all that a group has.
    fn forget(&mut self, group: usize) {
        if let Some(frame) = self.take_frame(group) {
            self.free.push(frame);
        }
        self.entries.retain(|(of, _)| *of != group);
        self.copies.retain(|of| *of != group);
        let group = &mut self.groups[group];
        (group.valid, group.writable) = (NONE, NONE);
        (group.kept, group.kept_writable, group.has_copy) = (NONE, NONE, false);
    }

    pub(super) fn take_frame(&mut self, group: usize) -> Option<usize> {
        let frame = self.frame_of(group);
        if !self.has_store() {
            (self.groups[group].valid, self.groups[group].writable) = (NONE, NONE);
        }
        self.frames[frame?].group = None;
        frame
    }

    pub(super) fn fork(&mut self, parent: usize, child: usize) -> u64 {
        let mut pages = 0;
        for slot in 0..self.spaces[parent].len() {
            let segment = &mut self.spaces[parent][slot];
            for page in 0..PAGES {
                pages += u64::from(segment.existing[page]);
                if segment.existing[page] && segment.private[page] {
                    segment.shared_until_written[page] = true;
                }
            }
            let mut copy = segment.clone();
            let group = &mut self.groups[copy.group];
            for page in 0..PAGES {
                if copy.shared_until_written[page] {
                    group.writable[page] = false;
                    group.kept_writable[page] = false;
                }
            }
            if !self.setup.system.sharing {
                copy.group = self.new_group(None);
            }
            self.spaces[child].push(copy);
        }
        pages
    }

    pub(super) fn exit(&mut self, space: usize) -> (u64, bool) {
        let existing = self.spaces[space].iter().flat_map(|of| of.existing);
        let pages = existing.filter(|exists| *exists).count() as u64;
        let had_context = self.release(space);
        self.leave(space);
        (pages, had_context)
    }

    fn release(&mut self, space: usize) -> bool {
        for smeg in &mut self.smegs {
            if smeg.is_some_and(|(holder, _)| holder == space) {
                *smeg = None;
            }
        }
        let had_context = self.has_context(space);
        for context in &mut self.contexts {
            if context.is_some_and(|(holder, _)| holder == space) {
                *context = None;
            }
        }
        had_context
    }

    pub(super) fn swap_out(&mut self, space: usize) {
        self.release(space);
        for slot in 0..self.spaces[space].len() {
            let group = self.spaces[space][slot].group;
            if self.users(group) == [space] {
                self.forget(group);
            }
        }
    }

    pub(super) fn is_unmapped(&self, space: usize) -> bool {
        self.spaces[space].iter().all(|of| {
            let group = &self.groups[of.group];
            group.valid == NONE && group.kept == NONE
        })
    }

    /// A space comes to run; what its context costs.
    pub(super) fn run(&mut self, space: usize) -> u64 {
        let now = self.tick();
        for context in self.contexts.iter_mut().flatten() {
            if context.0 == space {
                context.1 = now;
                return 0;
            }
        }
        let mut cost_ns = self.prices.paths_ns.context;
        let free = self.contexts.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| match self.setup.system.context_policy {
            ContextPolicy::Lru => {
                let used = self.contexts.iter().map(|context| context.map(|(_, used)| used));
                used.enumerate().min_by_key(|(_, used)| *used).unwrap().0
            }
            ContextPolicy::Rover => {
                self.rover += 1;
                (self.rover - 1) % self.contexts.len()
            }
        });
        let from = self.contexts[index].map(|(holder, _)| holder);
        self.events.push(Event::Context { process: space, from });
        if let Some(loser) = from {
            self.counts.ctxstolen += 1;
            cost_ns += self.prices.flush_ns + self.mapped(loser) * self.prices.segment_ns;
        }
        self.counts.ctxalloc += 1;
        self.contexts[index] = Some((space, now));
        self.counts.ctxpmgs += self.mapped(space);
        cost_ns + self.mapped(space) * self.prices.segment_ns
    }

    pub(super) fn visit(&mut self, space: usize, slot: usize) {
        let now = self.tick();
        if let Some(frame) = self.frame_of(self.spaces[space][slot].group) {
            self.frames[frame].visited = now;
        }
    }

    pub(super) fn is_ready(&self, space: usize, slot: usize, page: usize, is_write: bool) -> bool {
        let segment = &self.spaces[space][slot];
        let group = &self.groups[segment.group];
        if is_write && group.writable[page] {
            // Nobody else may see what is written here.
            assert!(!segment.private[page] || self.users(segment.group) == [space]);
            assert!(segment.existing[page] && !segment.shared_until_written[page]);
        }
        if is_write { group.writable[page] } else { group.valid[page] }
    }

    /// A fault: time in the kernel, and what it costs in user mode.
    pub(super) fn fault(
        &mut self,
        space: usize,
        slot: usize,
        page: usize,
        is_write: bool,
    ) -> (u64, u64) {
        let event = Event::Fault { process: space, slot: slot as u32, page: 1 << page };
        self.events.push(event);
        if is_write {
            self.unshare(space, slot);
        }
        let group = self.spaces[space][slot].group;
        if self.has_store() {
            return self.fill_entry(space, slot, page, is_write);
        }
        self.faults += 1;
        let mut system_ns = 0;
        if self.frame_of(group).is_some() {
            self.counts.pmghave += 1;
        } else {
            system_ns += self.give_frame(space, slot);
            if self.groups[group].kept != NONE {
                let group = &mut self.groups[group];
                (group.valid, group.writable) = (group.kept, group.kept_writable);
                self.loads += 1;
                self.events.push(Event::Load { process: space, slot: slot as u32 });
                return (system_ns + self.prices.load_ns, self.prices.paths_ns.fault_user);
            }
        }
        let now = self.tick();
        if let Some(frame) = self.frame_of(group) {
            self.frames[frame].faulted = now;
        }
        system_ns += self.make_page(space, slot, page, is_write);
        (system_ns, self.prices.paths_ns.fault_user)
    }

    fn unshare(&mut self, space: usize, slot: usize) {
        let segment = &self.spaces[space][slot];
        if segment.private == NONE || self.users(segment.group) == [space] {
            return;
        }
        self.spaces[space][slot].group = self.new_group(None);
    }

    fn make_page(&mut self, space: usize, slot: usize, page: usize, is_write: bool) -> u64 {
        let id = self.spaces[space][slot].group;
        let is_own = self.users(id) == [space];
        let segment = &mut self.spaces[space][slot];
        let mut cost_ns = self.prices.paths_ns.fault;
        if !segment.existing[page] {
            segment.existing[page] = true;
            cost_ns += self.prices.paths_ns.zero_fill;
        } else if is_write && segment.shared_until_written[page] {
            segment.shared_until_written[page] = false;
            cost_ns += self.prices.paths_ns.copy;
        }
        let is_safe = is_own || !segment.private[page];
        let may_write = is_write || (is_safe && !segment.shared_until_written[page]);
        let group = &mut self.groups[id];
        group.valid[page] = true;
        group.writable[page] |= may_write;
        if self.setup.system.reload != Reload::Page {
            let (valid, writable) = (group.valid, group.writable);
            self.keep(id);
            let group = &mut self.groups[id];
            for page in 0..PAGES {
                group.kept[page] |= valid[page];
                group.kept_writable[page] |= writable[page];
            }
        }
        cost_ns
    }

    fn fill_entry(&mut self, space: usize, slot: usize, page: usize, is_write: bool) -> (u64, u64) {
        let id = self.spaces[space][slot].group;
        let group = &mut self.groups[id];
        let was_valid = group.valid[page];
        let is_kept = if is_write { group.kept_writable[page] } else { group.kept[page] };
        let cost = if is_kept {
            group.valid[page] = true;
            group.writable[page] |= group.kept_writable[page];
            self.loads += 1;
            self.events.push(Event::Load { process: space, slot: slot as u32 });
            if self.setup.system.reload == Reload::Walk {
                (0, self.prices.walk_ns)
            } else {
                self.faults += 1;
                (self.prices.paths_ns.entry, 0)
            }
        } else {
            self.faults += 1;
            (self.make_page(space, slot, page, is_write), self.prices.paths_ns.fault_user)
        };
        if was_valid {
            return cost;
        }
        let room = self.frames.len() * self.setup.machine.ptes_per_pmeg() as usize;
        if self.entries.len() == room {
            let (other, page) = self.entries.remove(0);
            self.steals += 1;
            (self.groups[other].valid[page], self.groups[other].writable[page]) = (false, false);
        }
        self.entries.push((id, page));
        cost
    }
}
