//! The hardware address translation layer ("hat" in SunOS): its entries and their costs.
//!
//! A *group* is the entries of one segment of an address space; with sharing, of several spaces in
//! which the segment is identical. Some of its pages are valid in its pmeg ("frame"), some kept in
//! its copy in memory. A fault validates one page, or all kept ones.

mod life;
mod prices;
mod steal;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rand_pcg::Pcg64Mcg;

use super::log::{Event, Log};
use super::outcome::Outcome;
use super::program::{Layout, Region};
use super::setup::Setup;
use super::slots::{Chooser, Contexts, Frame, Grant, Smegs};
use super::system::Reload;
pub(crate) use prices::Prices;

#[derive(Clone, Debug, Default)]
struct Group {
    frame: Option<u16>,
    /// Pages that can be touched, and written, without a fault.
    valid: u64,
    writable: u64,
    /// Pages kept in the copy in memory, and those of them that can be written, one bit per page.
    kept: u64,
    kept_writable: u64,
    has_copy: bool,
    /// Its address spaces, and how many of them hold a context.
    users: Vec<u32>,
    with_context: u32,
}

#[derive(Clone, Debug, Default)]
struct Segment {
    group: u32,
    /// Pages that exist.
    existing: u64,
    /// Pages that are shared until they are written.
    cow: u64,
}

#[derive(Clone, Debug, Default)]
struct Space {
    layout: Arc<Layout>,
    segments: Vec<Segment>,
    regions: Vec<u16>,
    has_context: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) system_ns: u64,
    pub(crate) user_ns: u64,
}

pub(crate) struct Hat {
    pub(crate) prices: Prices,
    pub(crate) log: Log,
    /// The counts, including the engine's.
    pub(crate) outcome: Outcome,
    reload: Reload,
    sharing: bool,
    frames: Vec<Frame>,
    free: Vec<u16>,
    groups: Vec<Group>,
    spaces: Vec<Space>,
    contexts: Contexts,
    chooser: Chooser,
    smegs: Option<Smegs>,
    /// Single entries instead of pmegs, first in, first out.
    store: Option<VecDeque<(u32, u64)>>,
    store_room: usize,
    /// Groups with a copy in memory; a capacity of 0 is unlimited.
    copies: Vec<u32>,
    copies_room: usize,
    copies_hand: usize,
    /// Groups without anything private, by what they consist of.
    identical: BTreeMap<Vec<Region>, u32>,
    clock: u64,
    rng: Pcg64Mcg,
}

impl Hat {
    pub(crate) fn new(setup: &Setup, rng: Pcg64Mcg) -> Self {
        let (machine, system) = (&setup.machine, &setup.system);
        let frames = setup.free_pmegs() as usize;
        let is_single = matches!(system.reload, Reload::Walk | Reload::Entry);
        // The kernel's groups have copies too.
        let copies = setup.software_pmegs();
        let room = copies.saturating_sub(machine.mmu.reserved_pmegs.into()).max(frames as u64);
        Self {
            prices: Prices::new(setup),
            log: Log::default(),
            outcome: Outcome::default(),
            reload: system.reload,
            sharing: system.sharing,
            frames: vec![Frame::default(); frames],
            free: (0..frames as u16).rev().collect(),
            groups: Vec::new(),
            spaces: Vec::new(),
            // The kernel has one for itself.
            contexts: Contexts::new(system.context_policy, machine.mmu.contexts - 1),
            chooser: Chooser::new(system.victim),
            smegs: (machine.mmu.smegs > 0).then(|| Smegs::new(machine.mmu.smegs)),
            store: is_single.then(VecDeque::new),
            store_room: frames * machine.ptes_per_pmeg() as usize,
            copies: Vec::new(),
            copies_room: if copies == 0 { 0 } else { room as usize },
            copies_hand: 0,
            identical: BTreeMap::new(),
            clock: 0,
            rng,
        }
    }

    /// The pages of a segment that need no fault.
    pub(crate) fn ready(&self, space: usize, slot: u32, is_write: bool) -> u64 {
        let group = self.group(&self.spaces[space].segments[slot as usize]);
        if is_write { group.writable } else { group.valid }
    }

    /// Records a use of a segment.
    pub(crate) fn visit(&mut self, space: usize, slot: u32) {
        let group = self.spaces[space].segments[slot as usize].group;
        if let Some(frame) = self.groups[group as usize].frame {
            self.clock += 1;
            self.frames[usize::from(frame)].visited = self.clock;
        }
    }

    /// Pages of a mapped segment that lost their entries: their faults cost `prices.plain_ns`.
    pub(crate) fn plain(&self, space: usize, slot: u32, is_write: bool) -> u64 {
        let segment = &self.spaces[space].segments[slot as usize];
        let group = self.group(segment);
        if self.reload != Reload::Page || group.frame.is_none() {
            return 0;
        }
        let shared = if is_write { segment.cow } else { 0 };
        segment.existing & !group.valid & !shared
    }

    pub(crate) fn plain_faults(&mut self, space: usize, slot: u32, pages: u64) {
        let writable = self.writable(space, slot as usize);
        let segment = &self.spaces[space].segments[slot as usize];
        let group = &mut self.groups[segment.group as usize];
        group.valid |= pages;
        group.writable |= pages & writable;
        let count = u64::from(pages.count_ones());
        self.outcome.translation_faults += count;
        self.outcome.hat.pmghave += count;
        if let Some(frame) = group.frame {
            self.clock += 1;
            self.frames[usize::from(frame)].faulted = self.clock;
        }
    }

    /// Makes a page ready, or comes nearer to that.
    pub(crate) fn fault(&mut self, space: usize, slot: u32, page: u64, is_write: bool) -> Cost {
        self.log.note(Event::Fault { process: space, slot, page });
        if is_write {
            self.unshare(space, slot as usize);
        }
        if self.store.is_some() {
            return self.fill_entry(space, slot as usize, page, is_write);
        }
        self.outcome.translation_faults += 1;
        let group = self.spaces[space].segments[slot as usize].group as usize;
        let mut system_ns = 0;
        if self.groups[group].frame.is_none() {
            system_ns += self.give_frame(space, slot as usize);
            if self.groups[group].kept != 0 {
                let group = &mut self.groups[group];
                (group.valid, group.writable) = (group.kept, group.kept_writable);
                self.outcome.loads += 1;
                self.log.note(Event::Load { process: space, slot });
                system_ns += self.prices.load_ns;
                return Cost { system_ns, user_ns: self.prices.paths_ns.fault_user };
            }
        } else {
            self.outcome.hat.pmghave += 1;
        }
        self.clock += 1;
        if let Some(frame) = self.groups[group].frame {
            self.frames[usize::from(frame)].faulted = self.clock;
        }
        system_ns += self.make_page(space, slot as usize, page, is_write);
        Cost { system_ns, user_ns: self.prices.paths_ns.fault_user }
    }

    /// Makes a page if it does not exist, copies it for a write if shared, and validates its entry.
    fn make_page(&mut self, space: usize, slot: usize, page: u64, is_write: bool) -> u64 {
        let segment = &mut self.spaces[space].segments[slot];
        let mut system_ns = self.prices.paths_ns.fault;
        if segment.existing & page == 0 {
            segment.existing |= page;
            system_ns += self.prices.paths_ns.zero_fill;
        } else if is_write && segment.cow & page != 0 {
            segment.cow &= !page;
            system_ns += self.prices.paths_ns.copy;
        }
        let id = segment.group;
        let may_write = is_write || self.writable(space, slot) & page != 0;
        let group = &mut self.groups[id as usize];
        group.valid |= page;
        group.writable |= if may_write { page } else { 0 };
        if self.reload != Reload::Page {
            let (valid, writable) = (group.valid, group.writable);
            self.keep(id);
            let group = &mut self.groups[id as usize];
            (group.kept, group.kept_writable) =
                (group.kept | valid, group.kept_writable | writable);
        }
        system_ns
    }

    /// Pages that may be writable: neither copied on write nor reached through shared entries.
    fn writable(&self, space: usize, slot: usize) -> u64 {
        let segment = &self.spaces[space].segments[slot];
        let is_own = self.groups[segment.group as usize].users.len() < 2;
        let private = self.spaces[space].layout.pages[slot].private;
        !segment.cow & if is_own { u64::MAX } else { !private }
    }

    /// As `fault`, with a store of single entries.
    fn fill_entry(&mut self, space: usize, slot: usize, page: u64, is_write: bool) -> Cost {
        let id = self.spaces[space].segments[slot].group;
        let group = &mut self.groups[id as usize];
        let kept = if is_write { group.kept_writable } else { group.kept };
        let is_present = group.valid & page != 0;
        let cost = if kept & page == 0 {
            self.outcome.translation_faults += 1;
            let system_ns = self.make_page(space, slot, page, is_write);
            Cost { system_ns, user_ns: self.prices.paths_ns.fault_user }
        } else {
            group.valid |= page;
            group.writable |= group.kept_writable & page;
            self.outcome.loads += 1;
            self.log.note(Event::Load { process: space, slot: slot as u32 });
            if self.reload == Reload::Walk {
                Cost { system_ns: 0, user_ns: self.prices.walk_ns }
            } else {
                self.outcome.translation_faults += 1;
                Cost { system_ns: self.prices.paths_ns.entry, user_ns: 0 }
            }
        };
        if let Some(store) = self.store.as_mut().filter(|_| !is_present) {
            store.push_back((id, page));
            if store.len() > self.store_room
                && let Some((other, page)) = store.pop_front()
            {
                self.outcome.steals += 1;
                let other = &mut self.groups[other as usize];
                (other.valid, other.writable) = (other.valid & !page, other.writable & !page);
            }
        }
        cost
    }

    /// Gives a space that comes to run a context; returns the cost in ns.
    pub(crate) fn run(&mut self, space: usize) -> u64 {
        let mut cost_ns = 0;
        match self.contexts.grant(space) {
            Grant::Had => return 0,
            Grant::Free => self.log.note(Event::Context { process: space, from: None }),
            Grant::From(loser) => {
                self.log.note(Event::Context { process: space, from: Some(loser) });
                self.outcome.hat.ctxstolen += 1;
                cost_ns += self.prices.flush_ns + self.mapped(loser) * self.prices.segment_ns;
                self.set_context(loser, false);
            }
        }
        self.outcome.hat.ctxalloc += 1;
        let mapped = self.mapped(space);
        self.outcome.hat.ctxpmgs += mapped;
        self.set_context(space, true);
        cost_ns + self.prices.paths_ns.context + mapped * self.prices.segment_ns
    }

    fn set_context(&mut self, space: usize, has_context: bool) {
        let space = &mut self.spaces[space];
        if space.has_context == has_context {
            return;
        }
        space.has_context = has_context;
        for segment in &space.segments {
            let group = &mut self.groups[segment.group as usize];
            match has_context {
                true => group.with_context += 1,
                false => group.with_context -= 1,
            }
        }
    }

    /// Segments of a space that have a pmeg.
    pub(crate) fn mapped(&self, space: usize) -> u64 {
        let groups = self.spaces[space].segments.iter().map(|segment| self.group(segment));
        groups.filter(|group| group.frame.is_some()).count() as u64
    }

    /// Whether the system knows no mapped page of a space.
    pub(crate) fn is_unmapped(&self, space: usize) -> bool {
        let mut groups = self.spaces[space].segments.iter().map(|segment| self.group(segment));
        groups.all(|group| group.valid | group.kept == 0)
    }

    fn group(&self, segment: &Segment) -> &Group {
        &self.groups[segment.group as usize]
    }
}
