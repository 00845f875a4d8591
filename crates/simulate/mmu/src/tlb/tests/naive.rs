//! The obvious simulator: every page by itself, every lookup in full, no memory of the last page.

use std::collections::BTreeMap;

use trace::Event;

use super::naive_table::{Key, Table};
use crate::tlb::machine::shape;
use crate::tlb::{Machine, Options, PagePolicy, PageSize, Prefetch, Share};

/// Where the naive model's tags of shared mappings begin.
const SHARED: u64 = 1 << 15;

pub(super) struct Naive {
    machine: Machine,
    options: Options,
    cores: Vec<Core>,
    active: usize,
    process: u32,
    seats: Vec<(u32, u32)>,
    /// Each mapped page of each process, with its mapping if it can be shared.
    mapped: BTreeMap<(u32, u64), Option<u32>>,
    heaps: BTreeMap<u32, (u64, u64)>,
    mappings: u32,
    frames: BTreeMap<(u64, u32, u64), u64>,
    next_frame: u64,
    next_chunk: u64,
    switches: u64,
    pub(super) counts: BTreeMap<String, u64>,
}

struct Core {
    tlbs: Vec<Table>,
    caches: Vec<Table>,
    nested: Option<Table>,
    lines: Table,
    asids: Vec<Option<(u32, u64)>>,
    tag: u64,
    running: Option<u32>,
    unused: Vec<(usize, Key)>,
}

impl Naive {
    pub(super) fn new(machine: &Machine, options: &Options) -> Self {
        let mut seed = options.seed;
        let mut table = |mut shape: crate::tlb::array::Shape, policy: Option<_>| {
            seed = seed.wrapping_add(1);
            shape.policy = policy.unwrap_or(shape.policy);
            Table::new(shape, seed)
        };
        let asids = options.asids.unwrap_or(machine.asids) as usize;
        let nested = machine.nested.as_ref().filter(|_| options.virtualized);
        let cores = (0..options.cores)
            .map(|_| Core {
                tlbs: machine.tlbs.iter().map(|tlb| table(tlb.shape(), options.policy)).collect(),
                caches: machine
                    .walk_caches
                    .iter()
                    .map(|cache| table(shape(cache.entries, cache.ways, cache.policy), None))
                    .collect(),
                nested: nested
                    .map(|nested| table(shape(nested.entries, nested.ways, nested.policy), None)),
                lines: table(machine.walk.shape(), None),
                asids: vec![None; asids],
                tag: 0,
                running: None,
                unused: Vec::new(),
            })
            .collect();
        let mut naive = Self {
            machine: machine.clone(),
            options: options.clone(),
            cores,
            active: 0,
            process: 0,
            seats: Vec::new(),
            mapped: BTreeMap::new(),
            heaps: BTreeMap::new(),
            mappings: 0,
            frames: BTreeMap::new(),
            next_frame: 0,
            next_chunk: 0,
            switches: 0,
            counts: BTreeMap::new(),
        };
        naive.switch(0, 0);
        naive
    }

    pub(super) fn contents(&self, core: usize) -> Vec<Vec<Key>> {
        self.cores[core].tlbs.iter().map(Table::keys).collect()
    }

    fn count(&mut self, name: &str, by: u64) {
        *self.counts.entry(name.to_owned()).or_default() += by;
    }

    /// The mapping that `2^shift` pages lie in, if it is one that can be shared.
    fn mapping(&self, page: u64, shift: u32) -> Option<u32> {
        let first = page >> shift << shift;
        let id = *self.mapped.get(&(self.process, first))?;
        let same = |page| self.mapped.get(&(self.process, page)) == Some(&id);
        (first..first + (1 << shift)).all(same).then_some(id)?
    }

    fn guest_size(&self, page: u64) -> PageSize {
        let first = page >> 9 << 9;
        let private = |page| self.mapped.get(&(self.process, page)) == Some(&None);
        match self.options.page_size {
            PagePolicy::Thp if (first..first + 512).all(private) => PageSize::Huge,
            PagePolicy::Recorded | PagePolicy::Small | PagePolicy::Thp => PageSize::Small,
            PagePolicy::Huge => PageSize::Huge,
            PagePolicy::Giant => PageSize::Giant,
        }
    }

    fn size(&self, page: u64) -> PageSize {
        let limit = self.options.virtualized.then_some(self.options.host_page_size);
        self.guest_size(page).min(limit.unwrap_or(PageSize::Giant))
    }

    fn key(&self, page: u64, size: PageSize) -> Key {
        let shared = self.options.share == Share::Translations;
        let mapping = self.mapping(page, size.shift()).filter(|_| shared);
        let tag = mapping.map_or(self.cores[self.active].tag, |id| SHARED + u64::from(id));
        (tag, size.shift(), page >> size.shift())
    }

    /// The TLBs that a page is looked up in, each with the size under which.
    fn route(&self, size: PageSize, fetch: bool) -> Vec<(usize, PageSize)> {
        let at = |level, size| self.machine.tlb(level, fetch, size).map(|tlb| (tlb, size));
        let first = PageSize::EACH
            .into_iter()
            .rev()
            .filter(|piece| *piece <= size)
            .find_map(|piece| at(1, piece));
        first.into_iter().chain((2..=9).filter_map(|level| at(level, size))).collect()
    }

    pub(super) fn refer(&mut self, page: u64, fetch: bool) {
        self.count("references", 1);
        self.count("fetches", u64::from(fetch));
        let size = self.size(page);
        let route = self.route(size, fetch);
        let mut behind_first = false;
        for (tlb, size) in route {
            let key = self.key(page, size);
            if self.look_up(tlb, key, behind_first) {
                return;
            }
            behind_first = true;
        }
        self.walk(page, "walk");
        let prefetches = self.machine.prefetch == Prefetch::NextPage;
        if self.options.prefetch.unwrap_or(prefetches) {
            self.prefetch(page + (1 << size.shift()), fetch);
        }
    }

    fn look_up(&mut self, tlb: usize, key: Key, behind_first: bool) -> bool {
        let tlbs = &self.machine.tlbs;
        let (name, cycles) = (tlbs[tlb].name.clone(), tlbs[tlb].lookup_cycles);
        let (hit, _) = self.put(tlb, key);
        self.count(&format!("tlb.{name}.accesses"), 1);
        self.count(&format!("tlb.{name}.{}", if hit { "hits" } else { "misses" }), 1);
        self.count("lookup_cycles", cycles);
        let unused = &mut self.cores[self.active].unused;
        let before = unused.len();
        if hit && behind_first {
            unused.retain(|unused| *unused != (tlb, key));
        }
        let used = (before - unused.len()) as u64;
        self.count("prefetch.used", used);
        hit
    }

    fn put(&mut self, tlb: usize, key: Key) -> (bool, bool) {
        let name = self.machine.tlbs[tlb].name.clone();
        let core = &mut self.cores[self.active];
        let (hit, evicted) = core.tlbs[tlb].access(key);
        core.unused.retain(|(at, key)| *at != tlb || core.tlbs[tlb].has(*key));
        self.count(&format!("tlb.{name}.fills"), u64::from(!hit));
        self.count(&format!("tlb.{name}.evictions"), u64::from(evicted));
        (hit, evicted)
    }

    fn prefetch(&mut self, page: u64, fetch: bool) {
        let route = self.route(self.size(page), fetch);
        let Some((tlb, size)) = route.last().copied().filter(|_| route.len() > 1) else { return };
        let key = self.key(page, size);
        if !self.cores[self.active].tlbs[tlb].has(key) {
            self.walk(page, "prefetch");
            self.put(tlb, key);
            self.cores[self.active].unused.push((tlb, key));
        }
    }

    fn owner(&self, page: u64, shift: u32) -> u64 {
        let mapping = self.mapping(page, shift).filter(|_| self.options.share != Share::None);
        mapping.map_or(u64::from(self.process), |id| SHARED + u64::from(id))
    }

    fn walk(&mut self, page: u64, kind: &str) {
        let size = self.guest_size(page);
        let leaf = size as u32 + 1;
        self.count(&format!("{kind}.walks"), 1);
        self.count(&format!("{kind}.cycles"), self.machine.walk.start_cycles);
        let tag = self.cores[self.active].tag;
        let mut first = self.levels();
        let mut found = false;
        for table in leaf + 1..=self.levels() {
            let Some(cache) = self.cache(table) else { continue };
            let name = self.machine.walk_caches[cache].name.clone();
            self.count(&format!("walk_cache.{name}.accesses"), 1);
            let key = (tag, 0, page >> (9 * (table - 1)));
            if !found && self.cores[self.active].caches[cache].has(key) {
                self.cores[self.active].caches[cache].access(key);
                self.count(&format!("walk_cache.{name}.hits"), 1);
                (first, found) = (table - 1, true);
            }
        }
        for table in (leaf..=first).rev() {
            let owner = self.owner(page, 9 * table);
            self.host_walk((owner, table, page >> (9 * table)), PageSize::Small, 0, kind);
            self.step((owner, table, page >> (9 * table - 6)), kind);
            self.count(&format!("{kind}.steps.{table}"), 1);
            if let Some(cache) = self.cache(table).filter(|_| table > leaf) {
                self.cores[self.active].caches[cache].access((tag, 0, page >> (9 * (table - 1))));
            }
        }
        let owner = self.owner(page, size.shift());
        let data = (owner, 0, page >> size.shift());
        self.host_walk(data, size, page % (1 << size.shift()), kind);
    }

    fn levels(&self) -> u32 {
        self.options.levels.unwrap_or(self.machine.walk.levels)
    }

    fn cache(&self, table: u32) -> Option<usize> {
        self.machine.walk_caches.iter().position(|cache| cache.table == table)
    }

    fn host_walk(&mut self, what: (u64, u32, u64), size: PageSize, within: u64, kind: &str) {
        if !self.options.virtualized {
            return;
        }
        let host = self.options.host_page_size;
        let frame = self.frame(what, size) + within;
        if let Some(nested) = &mut self.cores[self.active].nested {
            let (hit, _) = nested.access((0, host.shift(), frame >> host.shift()));
            self.count("walk_cache.nested.accesses", 1);
            self.count("walk_cache.nested.hits", u64::from(hit));
            if hit {
                return;
            }
        }
        for table in (host as u32 + 1..=self.levels()).rev() {
            self.step((u64::MAX, table, frame >> (9 * table - 6)), kind);
            self.count(&format!("{kind}.host_steps.{table}"), 1);
        }
    }

    fn frame(&mut self, what: (u64, u32, u64), size: PageSize) -> u64 {
        if let Some(frame) = self.frames.get(&what) {
            return *frame;
        }
        if size == PageSize::Small && !self.next_frame.is_multiple_of(512) {
            self.next_frame += 1;
            return *self.frames.entry(what).or_insert(self.next_frame - 1);
        }
        while size == PageSize::Giant && !self.next_chunk.is_multiple_of(512) {
            self.next_chunk += 1;
        }
        let frame = self.next_chunk * 512;
        self.next_chunk += if size == PageSize::Giant { 512 } else { 1 };
        if size == PageSize::Small {
            self.next_frame = frame + 1;
        }
        *self.frames.entry(what).or_insert(frame)
    }

    fn step(&mut self, line: Key, kind: &str) {
        let (cached, _) = self.cores[self.active].lines.access(line);
        let walk = &self.machine.walk;
        let cycles = if cached { walk.cached_cycles } else { walk.memory_cycles };
        self.count(&format!("{kind}.steps_from_memory"), u64::from(!cached));
        self.count(&format!("{kind}.cycles"), cycles);
    }

    pub(super) fn switch(&mut self, process: u32, thread: u32) {
        let seat = self.seats.iter().position(|seat| *seat == (process, thread));
        let seat = seat.unwrap_or_else(|| {
            self.seats.push((process, thread));
            self.seats.len() - 1
        });
        self.active = seat % self.cores.len();
        self.process = process;
        self.switches += 1;
        let core = &mut self.cores[self.active];
        let before = core.running.replace(process);
        if before == Some(process) {
            return;
        }
        let has = |asid: &Option<(u32, u64)>| asid.is_some_and(|(who, _)| who == process);
        let held = core.asids.iter().position(has);
        let oldest = (0..core.asids.len()).min_by_key(|asid| core.asids[*asid].map(|(_, at)| at));
        let mut taken = None;
        if let Some(asid) = held.or(oldest) {
            taken = core.asids[asid].replace((process, self.switches)).filter(|_| held.is_none());
            core.tag = asid as u64;
        }
        let (tag, none) = (core.tag, core.asids.is_empty());
        self.count("switches", u64::from(before.is_some()));
        self.count("asids_taken", u64::from(taken.is_some_and(|(_, at)| at > 0)));
        if taken.is_some() || none && before.is_some() {
            self.flush_tag(self.active, tag);
        }
    }

    fn tag_of(&self, core: usize) -> Option<u64> {
        let core = &self.cores[core];
        if core.asids.is_empty() {
            return (core.running == Some(self.process)).then_some(0);
        }
        let has = |asid: &Option<(u32, u64)>| asid.is_some_and(|(who, _)| who == self.process);
        core.asids.iter().position(has).map(|asid| asid as u64)
    }

    fn flush_tag(&mut self, core: usize, gone: u64) {
        self.count("flushes", 1);
        self.flush(core, |(tag, ..)| tag == gone);
        self.cores[core].caches.iter_mut().for_each(|cache| {
            cache.remove(|(tag, ..)| tag == gone);
        });
    }

    fn flush(&mut self, core: usize, goes: impl Fn(Key) -> bool) {
        for tlb in 0..self.cores[core].tlbs.len() {
            let flushed = self.cores[core].tlbs[tlb].remove(&goes);
            let name = self.machine.tlbs[tlb].name.clone();
            self.count(&format!("tlb.{name}.flushed"), flushed);
        }
        self.cores[core].unused.retain(|(_, key)| !goes(*key));
    }

    fn flush_process(&mut self) {
        for core in 0..self.cores.len() {
            if let Some(tag) = self.tag_of(core) {
                self.flush_tag(core, tag);
            }
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        let process = self.process;
        let pages = |address: u64, bytes: u64| address >> 12..(address + bytes).div_ceil(4096);
        match event {
            Event::Program { .. } | Event::Exit => {
                self.mapped.retain(|(owner, _), _| *owner != process);
                self.heaps.remove(&process);
                self.flush_process();
                for asid in self.cores.iter_mut().flat_map(|core| &mut core.asids).flatten() {
                    if asid.0 == process && *event == Event::Exit {
                        asid.1 = 0;
                    }
                }
            }
            Event::Fork { child } => {
                self.mapped.retain(|(owner, _), _| owner != child || *owner == process);
                let own = self.mapped.range((process, 0)..(process + 1, 0));
                let copies: Vec<_> = own.map(|((_, page), id)| ((*child, *page), *id)).collect();
                self.mapped.extend(copies);
                match self.heaps.get(&process).copied() {
                    Some(heap) => self.heaps.insert(*child, heap),
                    None => self.heaps.remove(child),
                };
                self.flush_process();
            }
            Event::Map { address, length_bytes, file, shared } => {
                let id = (*file || *shared).then_some(self.mappings);
                self.mappings += u32::from(id.is_some());
                let pages = pages(*address, *length_bytes);
                if self.map(pages.clone(), Some(id)) {
                    self.unmapped(pages);
                }
            }
            Event::Unmap { address, length_bytes } => {
                let pages = pages(*address, *length_bytes);
                self.map(pages.clone(), None);
                self.unmapped(pages);
            }
            Event::Break { address } => {
                let heap = self.heaps.get(&process).copied().filter(|heap| heap.0 <= *address);
                let (start, end) = heap.unwrap_or((*address, *address));
                self.heaps.insert(process, (start, *address));
                let pages = |end: u64| if end == start { start >> 12 } else { end.div_ceil(4096) };
                if pages(*address) > pages(end) {
                    self.map(pages(end)..pages(*address), Some(None));
                } else if pages(*address) < pages(end) {
                    self.map(pages(*address)..pages(end), None);
                    self.unmapped(pages(*address)..pages(end));
                }
            }
            _ => {}
        }
    }

    fn map(&mut self, pages: std::ops::Range<u64>, to: Option<Option<u32>>) -> bool {
        let mut replaced = false;
        for page in pages {
            replaced |= self.mapped.remove(&(self.process, page)).is_some();
            if let Some(id) = to {
                self.mapped.insert((self.process, page), id);
            }
        }
        replaced
    }

    fn unmapped(&mut self, pages: std::ops::Range<u64>) {
        if pages.end - pages.start > self.options.flush_ceiling {
            return self.flush_process();
        }
        for core in 0..self.cores.len() {
            let own = self.tag_of(core);
            self.count("page_flushes", u64::from(own.is_some()));
            self.flush(core, |(tag, shift, number)| {
                let overlaps = number << shift < pages.end && (number + 1) << shift > pages.start;
                overlaps && (Some(tag) == own || tag >= SHARED)
            });
            self.cores[core].caches.iter_mut().for_each(|cache| {
                cache.remove(|(tag, ..)| Some(tag) == own);
            });
        }
    }
}
