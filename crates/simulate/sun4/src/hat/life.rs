//! Address spaces: exec, fork, exit and swapping.

use std::sync::Arc;

use crate::hat::{Group, Hat, Segment, Space};
use crate::program::Layout;

impl Hat {
    /// Adds an empty address space.
    pub(crate) fn add(&mut self) {
        self.spaces.push(Space::default());
    }

    /// Replaces a space with an untouched layout.
    pub(crate) fn exec(&mut self, space: usize, layout: &Arc<Layout>) {
        self.leave(space);
        let mut segments = Vec::with_capacity(layout.pages.len());
        for pages in &layout.pages {
            let identity = pages.identity.as_ref().filter(|_| self.sharing);
            let known = identity.and_then(|identity| self.identical.get(identity).copied());
            let group = known.unwrap_or_else(|| self.new_group());
            if let Some(identity) = identity {
                self.identical.insert(identity.clone(), group);
            }
            self.join(space, group);
            segments.push(Segment {
                group,
                existing: pages.existing,
                cow: pages.existing & pages.private,
            });
        }
        let has_context = self.spaces[space].has_context;
        self.spaces[space] =
            Space { layout: Arc::clone(layout), segments, regions: layout.regions(), has_context };
    }

    /// Copies the parent's space, with private pages copied on write; returns the parent's pages.
    pub(crate) fn fork(&mut self, parent: usize, child: usize) -> u64 {
        let mut pages = 0;
        let mut space = Space { has_context: false, ..self.spaces[parent].clone() };
        for slot in 0..space.segments.len() {
            let private = space.layout.pages[slot].private;
            let segment = &mut self.spaces[parent].segments[slot];
            segment.cow |= segment.existing & private;
            pages += u64::from(segment.existing.count_ones());
            let (id, cow) = (segment.group, segment.cow);
            let group = &mut self.groups[id as usize];
            (group.writable, group.kept_writable) =
                (group.writable & !cow, group.kept_writable & !cow);
            let own = if self.sharing { id } else { self.new_group() };
            self.join(child, own);
            space.segments[slot].group = own;
            space.segments[slot].cow = cow;
        }
        self.spaces[child] = space;
        pages
    }

    /// Ends a space; returns its pages and whether it had a context.
    pub(crate) fn exit(&mut self, space: usize) -> (u64, bool) {
        let segments = self.spaces[space].segments.iter();
        let pages = segments.map(|segment| u64::from(segment.existing.count_ones())).sum();
        let had_context = self.release(space);
        self.leave(space);
        self.spaces[space] = Space::default();
        (pages, had_context)
    }

    /// Frees the hardware that a swapped space has.
    pub(crate) fn swap_out(&mut self, space: usize) {
        self.release(space);
        for slot in 0..self.spaces[space].segments.len() {
            let id = self.spaces[space].segments[slot].group;
            if self.groups[id as usize].users.len() <= 1 {
                self.drop_group(id);
            }
        }
    }

    fn release(&mut self, space: usize) -> bool {
        self.set_context(space, false);
        if let Some(smegs) = &mut self.smegs {
            smegs.release(space);
        }
        self.contexts.release(space)
    }

    /// Gives a space its own entries of a segment that it writes.
    pub(super) fn unshare(&mut self, space: usize, slot: usize) {
        let id = self.spaces[space].segments[slot].group;
        let is_private = self.spaces[space].layout.pages[slot].private != 0;
        if self.groups[id as usize].users.len() < 2 || !is_private {
            return;
        }
        self.quit(space, id);
        let own = self.new_group();
        self.join(space, own);
        self.spaces[space].segments[slot].group = own;
    }

    fn new_group(&mut self) -> u32 {
        self.groups.push(Group::default());
        (self.groups.len() - 1) as u32
    }

    fn join(&mut self, space: usize, group: u32) {
        let has_context = self.spaces[space].has_context;
        let group = &mut self.groups[group as usize];
        group.users.push(space as u32);
        group.with_context += u32::from(has_context);
    }

    fn quit(&mut self, space: usize, group: u32) {
        let has_context = self.spaces[space].has_context;
        let group = &mut self.groups[group as usize];
        if let Some(at) = group.users.iter().position(|user| *user as usize == space) {
            group.users.swap_remove(at);
            group.with_context -= u32::from(has_context);
        }
    }

    fn leave(&mut self, space: usize) {
        for slot in 0..self.spaces[space].segments.len() {
            let id = self.spaces[space].segments[slot].group;
            self.quit(space, id);
            if self.groups[id as usize].users.is_empty() {
                self.drop_group(id);
                self.identical.retain(|_, group| *group != id);
            }
        }
    }

    /// Frees the pmeg, the copy and the single entries of a group.
    fn drop_group(&mut self, id: u32) {
        if let Some(frame) = self.empty(id) {
            self.free.push(frame);
        }
        if let Some(store) = &mut self.store {
            store.retain(|(group, _)| *group != id);
        }
        self.copies.retain(|group| *group != id);
        let group = &mut self.groups[id as usize];
        (group.valid, group.writable) = (0, 0);
        (group.kept, group.kept_writable, group.has_copy) = (0, 0, false);
    }
}
