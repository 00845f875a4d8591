//! `8ctx-mem`: more memory than there is, tokens in a ring, eight trips for each new 2 KiB page.

use crate::desc::{Desc, Plan, Setting, Unsupported};
use crate::token_ring;

/// Bytes that each token moves its holder on.
const STRIDE_BYTES: u64 = 256;

pub(crate) const LOAD: Desc = Desc {
    name: "8ctx-mem",
    version: 1,
    about: "CPUs + 2 processes with 120 % of memory pass tokens: eight trips for each new 2 KiB page",
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
