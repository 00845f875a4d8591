//! `smallwrite`: a file of five times the memory, written through a buffer of 1 MiB.

use crate::desc::{Desc, Plan, Setting, Unsupported, nothing_to_finish, nothing_to_prepare};
use crate::file_writer;

/// Size of the buffer, in bytes.
const BUFFER_BYTES: u64 = 1 << 20;

pub(crate) const LOAD: Desc = Desc {
    name: "smallwrite",
    version: 1,
    about: "a file of 5 x memory, written in pieces of 1 MiB",
    totals: file_writer::TOTALS,
    dose_unit: "busy_ns",
    plan,
    prepare: nothing_to_prepare,
    work: file_writer::work,
    warm: file_writer::warm,
    dose: file_writer::dose,
    finish: nothing_to_finish,
};

fn plan(setting: &Setting) -> Result<Plan, Unsupported> {
    file_writer::plan(setting, BUFFER_BYTES)
}
