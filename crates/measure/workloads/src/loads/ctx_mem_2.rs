//! `2ctx-mem`: more memory than there is, tokens in a ring, a new 2 KiB page every other trip.

use super::token_ring;
use crate::workload::Workload;

const STRIDE_BYTES: u64 = 1024;

pub(crate) const LOAD: Workload = Workload {
    name: "2ctx-mem",
    about: "CPUs + 2 processes with 120 % of memory pass tokens: a new 2 KiB page every other trip",
    ..token_ring::workload(|setting| token_ring::plan(setting, STRIDE_BYTES))
};
