//! Hardware contexts: who holds one, and whose is taken.

use super::system::ContextPolicy;

/// Contexts that processes share.
#[derive(Clone, Debug)]
pub(crate) struct Contexts {
    policy: ContextPolicy,
    /// Address space that holds each, and when it last came to run.
    slots: Vec<Option<(usize, u64)>>,
    rover: usize,
    now: u64,
}

/// What came of asking for something that the hardware has few of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grant<T> {
    /// The asker had one.
    Had,
    /// It got a free one.
    Free,
    /// It got that of another.
    From(T),
}

impl Contexts {
    pub(crate) fn new(policy: ContextPolicy, count: u32) -> Self {
        Self { policy, slots: vec![None; count as usize], rover: 0, now: 0 }
    }

    /// Gives an address space a context, for it comes to run.
    pub(crate) fn grant(&mut self, space: usize) -> Grant<usize> {
        self.now += 1;
        let held = self.slots.iter_mut().flatten().find(|(holder, _)| *holder == space);
        if let Some((_, used)) = held {
            *used = self.now;
            return Grant::Had;
        }
        let (index, grant) = match self.slots.iter().position(Option::is_none) {
            Some(free) => (free, Grant::Free),
            None => {
                let victim = self.victim();
                let loser = self.slots[victim].map_or(space, |(holder, _)| holder);
                (victim, Grant::From(loser))
            }
        };
        self.slots[index] = Some((space, self.now));
        grant
    }

    fn victim(&mut self) -> usize {
        match self.policy {
            ContextPolicy::Lru => {
                let used = |slot: &Option<(usize, u64)>| slot.map_or(0, |(_, used)| used);
                let oldest = self.slots.iter().enumerate().min_by_key(|(_, slot)| used(slot));
                oldest.map_or(0, |(index, _)| index)
            }
            ContextPolicy::Rover => {
                let victim = self.rover;
                self.rover = (self.rover + 1) % self.slots.len();
                victim
            }
        }
    }

    /// Takes the context of an address space that is no more; whether it had one.
    pub(crate) fn release(&mut self, space: usize) -> bool {
        let is_of =
            |slot: &&mut Option<(usize, u64)>| slot.is_some_and(|(holder, _)| holder == space);
        self.slots.iter_mut().find(is_of).is_some_and(|slot| slot.take().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_that_was_used_longest_ago_is_taken() {
        let mut contexts = Contexts::new(ContextPolicy::Lru, 2);
        let grants = [1, 2, 1, 3, 2].map(|space| contexts.grant(space));
        assert_eq!(grants, [Grant::Free, Grant::Free, Grant::Had, Grant::From(2), Grant::From(1)]);
        assert!(contexts.release(3) && !contexts.release(3));
        assert_eq!(contexts.grant(4), Grant::Free);
    }

    #[test]
    fn the_rover_takes_one_after_the_other() {
        let mut contexts = Contexts::new(ContextPolicy::Rover, 2);
        let grants = [1, 2, 2, 3, 4].map(|space| contexts.grant(space));
        assert_eq!(grants, [Grant::Free, Grant::Free, Grant::Had, Grant::From(1), Grant::From(2)]);
    }
}
