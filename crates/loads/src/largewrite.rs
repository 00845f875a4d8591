//! `largewrite`: a file of five times the memory, written through a buffer of nearly half of it.

use model::units::format_size;

use crate::desc::{
    Desc, Plan, Setting, Unsupported, nothing_to_finish, nothing_to_prepare, scaled,
};
use crate::file_writer;

/// Memory left to the rest of the system before the buffer takes half, in bytes.
const LEFT_BYTES: u64 = 20 << 20;

pub(crate) const LOAD: Desc = Desc {
    name: "largewrite",
    version: 1,
    about: "a file of 5 x memory, written from a buffer of (memory - 20 MiB) / 2",
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
    let half_bytes = setting.memory_bytes.saturating_sub(LEFT_BYTES) / 2;
    if half_bytes < 1 << 20 {
        let text = format!(
            "memory of {} is too small: (memory - 20 MiB) / 2 must be at least 1 MiB",
            format_size(setting.memory_bytes)
        );
        return Err(Unsupported(text));
    }
    file_writer::plan(setting, scaled(half_bytes, setting.intensity.min(1.0)))
}
