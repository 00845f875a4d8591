//! `8ctx-mem`: more memory than there is, tokens in a ring, eight trips for each new 2 KiB page.

use super::token_ring;
use crate::workload::Workload;

const STRIDE_BYTES: u64 = 256;

pub(crate) const LOAD: Workload = Workload {
    name: "8ctx-mem",
    about: "CPUs + 2 processes with 120 % of memory pass tokens: eight trips for each new 2 KiB page",
    ..token_ring::workload(|setting| token_ring::plan(setting, STRIDE_BYTES))
};
