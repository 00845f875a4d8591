//! Shadow stacks of user code: a task has one, and more if its program has threads of its own.
//!
//! As in the kernel, a frame is known by the address of its return address, so nothing needs to balance.

use std::collections::HashMap;

use crate::nodes::{Node, USER};

/// Slots are looked up by parts of the address space of this size (log2).
const CHUNK_SHIFT: u32 = 16;
/// A slot that is further away from the last one is on another stack.
const SAME_STACK_BYTES: u64 = 1 << 16;

#[derive(Clone)]
struct Frame {
    slot: u64,
    node: Node,
    /// Whether its function was not entered yet.
    is_open: bool,
}

/// The stacks of a task.
#[derive(Clone, Default)]
pub(crate) struct UserStacks {
    stacks: Vec<Vec<Frame>>,
    by_chunk: HashMap<u64, usize>,
    current: usize,
    last_slot: u64,
}

impl UserStacks {
    /// What executes.
    pub(crate) fn node(&self) -> Node {
        let frames = self.stacks.get(self.current);
        frames.and_then(|frames| frames.last()).map_or(USER, |frame| frame.node)
    }

    /// Whether a function was called and not entered yet.
    pub(crate) fn is_open(&self) -> bool {
        let frames = self.stacks.get(self.current);
        frames.and_then(|frames| frames.last()).is_some_and(|frame| frame.is_open)
    }

    /// A call pushes its return address.
    pub(crate) fn call(&mut self, slot: u64) {
        self.move_to(slot);
        let frames = &mut self.stacks[self.current];
        pop_to(frames, slot);
        let node = frames.last().map_or(USER, |frame| frame.node);
        frames.push(Frame { slot, node, is_open: true });
    }

    /// The called function, by its node.
    pub(crate) fn enter(&mut self, node: Node) {
        let frames = self.stacks.get_mut(self.current);
        if let Some(frame) = frames.and_then(|frames| frames.last_mut()) {
            *frame = Frame { node, is_open: false, slot: frame.slot };
        }
    }

    /// A return pops its return address.
    pub(crate) fn leave(&mut self, slot: u64) {
        self.move_to(slot);
        pop_to(&mut self.stacks[self.current], slot);
    }

    /// Finds the stack of a slot.
    #[inline]
    fn move_to(&mut self, slot: u64) {
        if slot >> CHUNK_SHIFT != self.last_slot >> CHUNK_SHIFT || self.stacks.is_empty() {
            self.change(slot);
        }
        self.last_slot = slot;
    }

    #[cold]
    fn change(&mut self, slot: u64) {
        let is_near = slot.abs_diff(self.last_slot) < SAME_STACK_BYTES && !self.stacks.is_empty();
        let (stacks, current) = (&mut self.stacks, self.current);
        self.current = *self.by_chunk.entry(slot >> CHUNK_SHIFT).or_insert_with(|| {
            if is_near {
                return current;
            }
            stacks.push(Vec::new());
            stacks.len() - 1
        });
    }
}

fn pop_to(frames: &mut Vec<Frame>, slot: u64) {
    while frames.last().is_some_and(|frame| frame.slot <= slot) {
        frames.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: u64 = 0x7fff_ffff_8000;

    #[test]
    fn calls_and_returns_need_no_balance() {
        let mut stacks = UserStacks::default();
        assert_eq!(stacks.node(), USER);
        stacks.call(STACK);
        assert!(stacks.is_open());
        stacks.enter(5);
        stacks.call(STACK - 64);
        stacks.enter(6);
        stacks.call(STACK - 0x1_0000);
        assert_eq!(stacks.node(), 6, "until it is entered");
        stacks.enter(7);
        // A jump out of the last two functions.
        stacks.call(STACK - 16);
        stacks.enter(8);
        assert!(!stacks.is_open());
        stacks.leave(STACK - 16);
        assert_eq!(stacks.node(), 5);
        stacks.leave(STACK);
        assert_eq!(stacks.node(), USER);
    }

    #[test]
    fn threads_of_a_program_have_their_own_frames() {
        let mut stacks = UserStacks::default();
        let other = STACK - (1 << 24);
        for (slot, node) in [(STACK, 5), (other, 6), (other - 0x1_0000 + 8, 7)] {
            stacks.call(slot);
            stacks.enter(node);
        }
        stacks.leave(STACK - 32);
        assert_eq!(stacks.node(), 5);
        stacks.leave(other - 0x1_0000 + 8);
        assert_eq!(stacks.node(), 6);
    }
}
