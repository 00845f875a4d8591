//! Allocation of pmegs, smegs and copies of groups.

use crate::hat::Hat;
use crate::log::Event;
use crate::slots::{Grant, next};
use crate::system::Reload;

impl Hat {
    /// Gives a segment a pmeg; returns the cost beyond the fault, in ns.
    pub(super) fn give_frame(&mut self, space: usize, slot: usize) -> u64 {
        let mut cost_ns = self.give_smeg(space, slot);
        let frame = self.free.pop().unwrap_or_else(|| {
            let (frame, steal_ns) = self.steal_frame();
            self.log.note(Event::Steal { process: space, frame });
            cost_ns += steal_ns;
            frame
        });
        self.outcome.hat.pmgalloc += 1;
        self.clock += 1;
        let group = self.spaces[space].segments[slot].group;
        let slot = &mut self.frames[usize::from(frame)];
        slot.group = Some(group);
        (slot.loaded, slot.faulted, slot.visited) = (self.clock, self.clock, self.clock);
        self.groups[group as usize].frame = Some(frame);
        cost_ns + self.prices.segment_ns
    }

    fn steal_frame(&mut self) -> (u16, u64) {
        let groups = &self.groups;
        let is_idle = |group: u32| groups[group as usize].with_context == 0;
        let frame = self.chooser.choose(&self.frames, is_idle, &mut self.rng) as u16;
        let mut cost_ns = self.prices.unload_ns;
        self.outcome.steals += 1;
        if let Some(group) = self.frames[usize::from(frame)].group {
            if self.groups[group as usize].with_context > 0 {
                self.outcome.hat.pmgstolen_ctx += 1;
                cost_ns += self.prices.flush_ns + self.prices.segment_ns;
            } else {
                self.outcome.hat.pmgstolen_noctx += 1;
            }
            self.empty(group);
        }
        (frame, cost_ns)
    }

    /// Takes the pmeg of a group, for the caller to reuse or free.
    pub(super) fn empty(&mut self, group: u32) -> Option<u16> {
        let group = &mut self.groups[group as usize];
        if self.store.is_none() {
            (group.valid, group.writable) = (0, 0);
        }
        let frame = group.frame.take()?;
        self.frames[usize::from(frame)].group = None;
        Some(frame)
    }

    /// A region of a machine with three levels needs an smeg before its segments need pmegs.
    fn give_smeg(&mut self, space: usize, slot: usize) -> u64 {
        let Some(smegs) = &mut self.smegs else { return 0 };
        let region = (space, self.spaces[space].regions[slot]);
        let spaces = &self.spaces;
        let grant = smegs.grant(region, |space| !spaces[space].has_context);
        if grant == Grant::Had {
            self.outcome.hat.smghave += 1;
            return 0;
        }
        self.outcome.hat.smgalloc += 1;
        let mut cost_ns = self.prices.segment_ns;
        let Grant::From((loser, region)) = grant else { return cost_ns };
        if self.spaces[loser].has_context {
            self.outcome.hat.smgstolen_ctx += 1;
            cost_ns += self.prices.flush_ns;
        } else {
            self.outcome.hat.smgstolen_noctx += 1;
        }
        // The region is unreachable without its smeg.
        for slot in 0..self.spaces[loser].segments.len() {
            if self.spaces[loser].regions[slot] == region
                && let Some(frame) = self.empty(self.spaces[loser].segments[slot].group)
            {
                self.free.push(frame);
                cost_ns += self.prices.unload_ns;
            }
        }
        cost_ns
    }

    /// Gives a group a copy in memory. Without room another group loses its copy and pmeg.
    pub(super) fn keep(&mut self, group: u32) {
        if self.reload == Reload::Page || self.groups[group as usize].has_copy {
            return;
        }
        self.groups[group as usize].has_copy = true;
        if self.copies_room == 0 {
            return;
        }
        if self.copies.len() < self.copies_room {
            self.copies.push(group);
            return;
        }
        let is_idle = |at: usize| self.groups[self.copies[at] as usize].with_context == 0;
        let victim = next(self.copies_hand, self.copies.len(), is_idle);
        self.copies_hand = victim;
        let loser = std::mem::replace(&mut self.copies[victim], group);
        self.outcome.software_steals += 1;
        if let Some(frame) = self.empty(loser) {
            self.free.push(frame);
        }
        let loser = &mut self.groups[loser as usize];
        (loser.has_copy, loser.kept, loser.kept_writable) = (false, 0, 0);
    }
}
