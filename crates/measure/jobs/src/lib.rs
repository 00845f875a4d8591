//! Jobs as descriptions: their parameters, the plans of memory jobs, and the orders of what they do.
//!
//! **Invariant:** pure. What a process touches, and when a user thinks, is a function of plan, seed
//! and number; `workloads` and `agent` execute it, and `sun4` simulates it.

mod job;
mod layout;
mod order;
mod param;
mod permutation;
mod plan;
mod sequence;
mod touch;
mod vmtest;
mod zipf;

pub use job::Job;
pub use layout::Layout;
pub use order::Order;
pub use param::{Kind, Number, Param, Value};
pub use plan::MemoryJob;
pub use sequence::{Chain, in_order, shuffled, uniform};
pub use touch::{Access, Backing, Pages, Pattern, TOUCH, TouchPlan};
pub use vmtest::{VMTEST, VmtestPlan};
pub use zipf::Zipf;

use model::JobSpec;
use permutation::Permutation;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, de::IntoDeserializer};

/// Size of a small page in bytes.
pub const PAGE_BYTES: u64 = 4096;

/// The generator of one process: a function of seed and number.
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

fn number(job: &JobSpec, name: &str) -> Result<u64, String> {
    job.params.get(name).copied().ok_or_else(|| format!("{} needs a {name}", job.name))
}

fn choice<'de, T: Deserialize<'de>>(job: &JobSpec, name: &str) -> Result<T, String> {
    let chosen = job.choices.get(name).map_or("", String::as_str);
    let reader: StrDeserializer<'_, Error> = chosen.into_deserializer();
    T::deserialize(reader).map_err(|_| format!("{name}={chosen:?} is not known"))
}
