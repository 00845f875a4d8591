//! The jobs on memory as read from their specs, and the pure part of their work.

mod layout;
mod permutation;
mod plan;
mod sequence;
mod spec;
mod touch;
mod vmtest;
mod zipf;

pub use layout::Layout;
pub use permutation::Permutation;
pub use plan::MemoryJob;
pub use sequence::{Chain, InOrder, Shuffled, Uniform};
pub use touch::{Access, Backing, Pages, Pattern, TOUCH, TouchPlan};
pub use vmtest::{VMTEST, VmtestPlan};
pub use zipf::Zipf;

/// Size of a small page in bytes.
pub const PAGE_BYTES: u64 = 4096;

/// The generator of one process: equal seeds and numbers give equal ones, others are kept apart.
fn generator(seed: u64, process: u64) -> rand_pcg::Pcg64Mcg {
    use rand::SeedableRng;
    // 2^64 divided by the golden ratio.
    const APART: u64 = 0x9e37_79b9_7f4a_7c15;
    rand_pcg::Pcg64Mcg::seed_from_u64(seed ^ (process + 1).wrapping_mul(APART))
}

/// A number below `count` from a random word, biased by at most `count` in 2^64.
fn below(word: u64, count: u64) -> u64 {
    ((u128::from(word) * u128::from(count)) >> 64) as u64
}
