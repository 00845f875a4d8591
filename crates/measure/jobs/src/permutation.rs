//! A permutation of any size that takes no memory.

use rand::{Rng, RngExt};

/// A bijection of the numbers below a count, without pattern, division or memory: numbers of as
/// many bits as the count are multiplied by odd factors and folded; results that are too large go
/// in again, on average at most once ("cycle walking": J. Black, P. Rogaway, "Ciphers with
/// Arbitrary Finite Domains", CT-RSA 2002).
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    count: u64,
    mask: u64,
    fold: u32,
    shift: u64,
    factors: [u64; 3],
    inverses: [u64; 3],
}

impl Permutation {
    pub(super) fn new(count: u64, random: &mut impl Rng) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
        let factors: [u64; 3] = std::array::from_fn(|_| random.random::<u64>() | 1);
        Self {
            count,
            mask,
            fold: bits.div_ceil(2).max(1),
            shift: random.random(),
            factors,
            inverses: factors.map(inverse),
        }
    }

    /// The number at a position; `position` is below the count.
    #[inline]
    pub(super) fn at(&self, position: u64) -> u64 {
        let mut number = position;
        loop {
            number = number.wrapping_add(self.shift) & self.mask;
            for factor in self.factors {
                number = number.wrapping_mul(factor) & self.mask;
                number ^= number >> self.fold;
            }
            if number < self.count.max(1) {
                return number;
            }
        }
    }

    /// The position of a number that is below the count.
    #[inline]
    pub(super) fn position(&self, number: u64) -> u64 {
        let mut position = number;
        loop {
            for factor in self.inverses.into_iter().rev() {
                // Folding at half the bits or more is undone by folding again.
                position ^= position >> self.fold;
                position = position.wrapping_mul(factor) & self.mask;
            }
            position = position.wrapping_sub(self.shift) & self.mask;
            if position < self.count.max(1) {
                return position;
            }
        }
    }
}

/// The inverse modulo 2^64 by Newton's iteration: each step doubles the right bits, 3 at first.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |x, _| x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_number_stands_at_one_position(count in 1..3000_u64, seed in any::<u64>()) {
            let order = Permutation::new(count, &mut generator(seed, 0));
            let numbers: BTreeSet<u64> = (0..count).map(|position| order.at(position)).collect();
            prop_assert_eq!(numbers, (0..count).collect::<BTreeSet<_>>());
        }

        #[test]
        fn a_position_is_found_again(count in 1..u64::MAX / 2, seed in any::<u64>(), at in any::<u64>()) {
            let order = Permutation::new(count, &mut generator(seed, 0));
            prop_assert_eq!(order.position(order.at(at % count)), at % count);
        }
    }

    #[test]
    fn neighbours_come_apart() {
        for count in [4096_u64, 5000, 1 << 20] {
            let order = Permutation::new(count, &mut generator(1, 0));
            let jumps =
                (1..4096).map(|position| order.at(position).abs_diff(order.at(position - 1)));
            // Two independent numbers below n lie n/3 apart on average.
            let mean = jumps.sum::<u64>() as f64 / 4095.0 / count as f64;
            assert!((0.30..0.37).contains(&mean), "{count}: {mean}");
            let near =
                (1..4096).filter(|p| order.at(*p).abs_diff(order.at(p - 1)) < count / 100).count();
            assert!((30..140).contains(&near), "{count}: {near} of an expected 81");
        }
    }
}
