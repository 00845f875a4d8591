//! Whose pmeg, smeg or copy is taken: lists that are searched.

use rand::RngExt;

use super::hat::{Frame, Hat, NONE};
use crate::log::Event;
use crate::system::Victim;

impl Hat {
    /// The group gets a copy in memory, another one loses its own.
    pub(super) fn keep(&mut self, group: usize) {
        if self.groups[group].has_copy {
            return;
        }
        self.groups[group].has_copy = true;
        let copies = self.setup.software_pmegs();
        if copies == 0 {
            return;
        }
        let own = copies.saturating_sub(self.setup.machine.mmu.reserved_pmegs.into());
        let count = (own as usize).max(self.frames.len());
        if self.copies.len() < count {
            self.copies.push(group);
            return;
        }
        let mut victim = (self.copies_hand + 1) % count;
        for step in 1..=count {
            let at = (self.copies_hand + step) % count;
            if self.is_idle(self.copies[at]) {
                victim = at;
                break;
            }
        }
        self.copies_hand = victim;
        let loser = self.copies[victim];
        self.copies[victim] = group;
        self.software_steals += 1;
        if let Some(frame) = self.take_frame(loser) {
            self.free.push(frame);
        }
        let loser = &mut self.groups[loser];
        (loser.has_copy, loser.kept, loser.kept_writable) = (false, NONE, NONE);
    }

    pub(super) fn give_frame(&mut self, space: usize, slot: usize) -> u64 {
        let mut cost_ns = self.prices.segment_ns + self.give_smeg(space, slot);
        let frame = match self.free.pop() {
            Some(frame) => frame,
            None => {
                let frame = self.victim();
                self.steals += 1;
                cost_ns += self.prices.unload_ns;
                let group = self.frames[frame].group.unwrap();
                if self.is_idle(group) {
                    self.counts.pmgstolen_noctx += 1;
                } else {
                    self.counts.pmgstolen_ctx += 1;
                    cost_ns += self.prices.flush_ns + self.prices.segment_ns;
                }
                self.take_frame(group);
                self.events.push(Event::Steal { process: space, frame: frame as u16 });
                frame
            }
        };
        self.counts.pmgalloc += 1;
        let now = self.tick();
        let group = Some(self.spaces[space][slot].group);
        self.frames[frame] = Frame { group, loaded: now, faulted: now, visited: now };
        cost_ns
    }

    fn victim(&mut self) -> usize {
        let count = self.frames.len();
        let oldest = |age: fn(&Frame) -> u64| {
            (0..count).min_by_key(|frame| age(&self.frames[*frame])).unwrap()
        };
        match self.setup.system.victim {
            Victim::Fifo => oldest(|frame| frame.loaded),
            Victim::LruFault => oldest(|frame| frame.faulted),
            Victim::LruVisit => oldest(|frame| frame.visited),
            Victim::Random => self.rng.random_range(0..count),
            Victim::TwoPass => {
                let mut victim = (self.hand + 1) % count;
                for step in 1..=count {
                    let at = (self.hand + step) % count;
                    if self.is_idle(self.frames[at].group.unwrap()) {
                        victim = at;
                        break;
                    }
                }
                self.hand = victim;
                victim
            }
        }
    }

    fn give_smeg(&mut self, space: usize, slot: usize) -> u64 {
        if self.smegs.is_empty() {
            return 0;
        }
        let region = self.spaces[space][slot].region;
        if self.smegs.contains(&Some((space, region))) {
            self.counts.smghave += 1;
            return 0;
        }
        self.counts.smgalloc += 1;
        let mut cost_ns = self.prices.segment_ns;
        if let Some(free) = self.smegs.iter().position(Option::is_none) {
            self.smegs[free] = Some((space, region));
            return cost_ns;
        }
        let count = self.smegs.len();
        let mut at = (self.smeg_hand + 1) % count;
        for step in 1..=count {
            let candidate = (self.smeg_hand + step) % count;
            if !self.has_context(self.smegs[candidate].unwrap().0) {
                at = candidate;
                break;
            }
        }
        self.smeg_hand = at;
        let (loser, lost) = self.smegs[at].replace((space, region)).unwrap();
        if self.has_context(loser) {
            self.counts.smgstolen_ctx += 1;
            cost_ns += self.prices.flush_ns;
        } else {
            self.counts.smgstolen_noctx += 1;
        }
        for slot in 0..self.spaces[loser].len() {
            let of = &self.spaces[loser][slot];
            let (region, group) = (of.region, of.group);
            if region == lost
                && let Some(frame) = self.take_frame(group)
            {
                self.free.push(frame);
                cost_ns += self.prices.unload_ns;
            }
        }
        cost_ns
    }
}
