//! The inner loops of the memory jobs. All access is volatile, so that each touch happens once.

use crate::memory::Mapping;

/// Size of a pointer of a chain in bytes.
pub const POINTER_BYTES: usize = 8;

impl Mapping {
    /// Reads a byte in each step of the mapping, `loops` times over; how many were not 0.
    pub fn step_through(&self, step_bytes: usize, loops: u64) -> u64 {
        let step_bytes = step_bytes.clamp(1, self.size_bytes().max(1));
        let start = self.start().as_ptr();
        let mut others = 0;
        for _ in 0..loops {
            let mut offset = 0;
            while offset < self.size_bytes() {
                // SAFETY: the offset is inside a live mapping that is always readable.
                let byte = unsafe { start.add(offset).read_volatile() };
                others += u64::from(byte != 0);
                // Cannot overflow: a mapping is less than half of all addresses.
                offset += step_bytes;
            }
        }
        others
    }

    /// Reads a byte at each offset; the sum of them. An offset outside the mapping is left out.
    #[inline]
    pub fn read_each(&self, offsets: impl Iterator<Item = usize>) -> u64 {
        offsets.fold(0, |sum, offset| sum.wrapping_add(u64::from(self.read(offset))))
    }

    /// Writes a byte at each offset. An offset outside the mapping is left out.
    #[inline]
    pub fn write_each(&self, offsets: impl Iterator<Item = usize>, value: u8) {
        offsets.for_each(|offset| self.write(offset, value));
    }

    /// Stores a pointer to `to` at `from`, if that is a multiple of eight inside the mapping.
    pub fn set_pointer(&self, from: usize, to: usize) {
        if let Some(pointer) = self.pointer(from) {
            // SAFETY: `pointer` says that it may be written; see there.
            unsafe { pointer.write_volatile(to) }
        }
    }

    /// Links the starts of all steps of the mapping to one cycle without locality; of a number of
    /// steps that is not a power of two, only the largest one below.
    ///
    /// Each step points to `a × its number + c`, with `a` ≡ 1 modulo 4 and `c` odd from the seed: a
    /// generator of full period (Hull and Dobell 1962).
    pub fn link(&self, step_bytes: usize, seed: u64) {
        let step_bytes = step_bytes.clamp(POINTER_BYTES, self.size_bytes().max(POINTER_BYTES));
        let Some(power) = (self.size_bytes() / step_bytes).checked_ilog2() else { return };
        let steps = 1_usize << power;
        // The multiplier of Knuth's MMIX, moved on by the seed.
        let a = (6_364_136_223_846_793_005_u64.wrapping_add(seed << 3) & !3) | 1;
        let c = 1_442_695_040_888_963_407_u64.wrapping_add(seed << 1) | 1;
        for step in 0..steps {
            let next = (step as u64).wrapping_mul(a).wrapping_add(c) as usize & (steps - 1);
            self.set_pointer(step * step_bytes, next * step_bytes);
        }
    }

    /// Follows `steps` pointers, each load waiting for the one before; returns where it ends.
    pub fn follow(&self, from: usize, steps: u64) -> usize {
        self.follow_each(from, steps, |_, _| {})
    }

    /// Follows pointers as [`Self::follow`], writing each one again before the next one is
    /// followed.
    pub fn follow_and_write(&self, from: usize, steps: u64) -> usize {
        self.follow_each(from, steps, |pointer, to| {
            // SAFETY: as in `set_pointer`; what is written is what was there.
            unsafe { pointer.write_volatile(to) }
        })
    }

    #[inline]
    fn follow_each(&self, from: usize, steps: u64, visit: impl Fn(*mut usize, usize)) -> usize {
        let mut at = from;
        for _ in 0..steps {
            let Some(pointer) = self.pointer(at) else { return at };
            // SAFETY: `pointer` is aligned and inside a live, readable mapping.
            at = unsafe { pointer.read_volatile() };
            visit(pointer, at);
        }
        at
    }

    /// The address of a pointer that lies whole and aligned inside the mapping.
    #[inline]
    fn pointer(&self, offset: usize) -> Option<*mut usize> {
        const _: () = assert!(size_of::<usize>() == POINTER_BYTES);
        // Other offsets become huge numbers here. The address is computed from the offset as it is,
        // so that the next load of a chain waits for nothing but the last one.
        let index = offset.rotate_right(POINTER_BYTES.trailing_zeros());
        // SAFETY: a multiple of eight inside the mapping, which begins at a page.
        (index < self.size_bytes() / POINTER_BYTES)
            .then(|| unsafe { self.start().as_ptr().add(offset).cast() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stepping_through_reads_a_byte_a_step() {
        let mapping = Mapping::anonymous(3 * 4096).unwrap();
        mapping.touch(4096, 1);
        assert_eq!(mapping.step_through(4096, 5), 15);
        assert_eq!(mapping.step_through(1, 1), 3);
        assert_eq!(mapping.step_through(usize::MAX, 2), 2);
        assert_eq!(mapping.step_through(0, 0), 0);
    }

    #[test]
    fn each_offset_is_touched_and_none_outside() {
        let mapping = Mapping::anonymous(4096).unwrap();
        mapping.write_each([1, 5, 4096, usize::MAX].into_iter(), 4);
        assert_eq!(mapping.read_each([0, 1, 5, 5, 4096].into_iter()), 12);
        assert_eq!(mapping.scan(0..4096), 8);
    }

    #[test]
    fn a_linked_mapping_is_one_cycle_through_every_step() {
        for (bytes, seed) in [(1 << 16, 7), (3 << 14, 0), (64, u64::MAX)] {
            let mapping = Mapping::anonymous(bytes).unwrap();
            mapping.link(64, seed);
            let steps = 1_u64 << (bytes / 64).ilog2();
            let seen: std::collections::BTreeSet<usize> =
                (0..steps).map(|count| mapping.follow(0, count)).collect();
            assert_eq!((seen.len() as u64, mapping.follow(0, steps)), (steps, 0));
        }
        Mapping::anonymous(4096).unwrap().link(usize::MAX, 1);
    }

    #[test]
    fn a_chain_is_followed_and_a_pointer_to_nowhere_is_not() {
        let mapping = Mapping::anonymous(4096).unwrap();
        for (from, to) in [(0, 64), (64, 4088), (4088, 0), (8, 4096), (16, 12), (4096, 0), (3, 1)] {
            mapping.set_pointer(from, to);
        }
        assert_eq!((mapping.follow(0, 2), mapping.follow(0, 3)), (4088, 0));
        assert_eq!(mapping.follow_and_write(64, 1_000_000), mapping.follow(64, 1));
        assert_eq!((mapping.follow(8, 9), mapping.follow(16, 9)), (4096, 12));
        assert_eq!(mapping.follow(usize::MAX, 1), usize::MAX);
    }
}
