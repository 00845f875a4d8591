//! `provoke-memcg-refault`: random reads of a mapped file that is a little larger than memory.

use super::{mapped_file, provocation};
use crate::{Plan, Setting, Workload};

/// File size as a share of memory at an intensity of 0, which fits.
const FITS: f64 = 0.5;
/// Growth of that share at an intensity of 1: 105 % of memory does not fit.
const MORE: f64 = 0.55;
const BATCH: u64 = 64;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-memcg-refault",
    about: "random reads of a mapped file of 105 % of memory (at 0 of 50 %)",
    is_warm: mapped_file::is_warm,
    ..provocation(plan, |worker| mapped_file::read_at_random(worker, BATCH))
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let pages = setting.pages_of_memory(FITS + MORE * setting.intensity);
    Ok(Plan::new(1, [mapped_file::parameter(setting, pages)?]))
}
