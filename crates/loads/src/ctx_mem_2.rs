//! `2ctx-mem`: more memory than there is, tokens in a ring, a new 2 KiB page every other trip.

use crate::desc::{Desc, Plan, Setting, Unsupported};
use crate::token_ring;

/// Bytes that each token moves its holder on.
const STRIDE_BYTES: u64 = 1024;

pub(crate) const LOAD: Desc = Desc {
    name: "2ctx-mem",
    version: 1,
    about: "CPUs + 2 processes with 120 % of memory pass tokens: a new 2 KiB page every other trip",
    totals: token_ring::TOTALS,
    dose_unit: "bytes",
    plan,
    prepare: token_ring::prepare,
    work: token_ring::work,
    warm: token_ring::warm,
    dose: token_ring::dose,
    finish: token_ring::finish,
};

fn plan(setting: &Setting) -> Result<Plan, Unsupported> {
    token_ring::plan(setting, STRIDE_BYTES)
}
