//! `provoke-memcg-refault`: pages of a mapped file that is a little larger than memory, read at
//! random, so that most of what the group evicts comes back.

use std::convert::Infallible;

use super::{TOTALS, dose, mapped_file, page_bytes};
use crate::desc::{
    Desc, Plan, Setting, Unsupported, Work, WorkError, nothing_to_finish, nothing_to_prepare,
    scaled,
};

/// Size of the file for memory of 1 at an intensity of 0, which fits.
const FITS: f64 = 0.5;
/// What an intensity of 1 adds: 105 % of memory does not fit.
const MORE: f64 = 0.55;
/// Reads that are counted together.
const BATCH: u64 = 64;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-memcg-refault",
    version: 1,
    about: "random reads of a mapped file of 105 % of memory (at 0 of 50 %)",
    totals: TOTALS,
    dose_unit: "busy_ns",
    plan,
    prepare: nothing_to_prepare,
    work,
    warm: mapped_file::is_warm,
    dose,
    finish: nothing_to_finish,
};

fn plan(setting: &Setting) -> Result<Plan, Unsupported> {
    let share = FITS + MORE * setting.intensity;
    let pages = scaled(setting.memory_bytes, share) / page_bytes() as u64;
    let params = [mapped_file::parameter(setting, pages)?].into();
    Ok(Plan { workers: 1, params, notes: vec![] })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    mapped_file::read_at_random(work, BATCH)
}
