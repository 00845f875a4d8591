//! `largewrite`: a file of five times the memory, written through a buffer of nearly half of it.

use model::units::format_size;

use super::file_writer;
use crate::{Plan, Setting, Workload, scaled};

/// Memory for the rest of the system, in bytes.
const LEFT_BYTES: u64 = 20 << 20;

pub(crate) const LOAD: Workload = Workload {
    name: "largewrite",
    about: "a file of 5 x memory, written from a buffer of (memory - 20 MiB) / 2",
    ..file_writer::workload(plan)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let half_bytes = setting.memory_bytes.saturating_sub(LEFT_BYTES) / 2;
    if half_bytes < 1 << 20 {
        return Err(format!(
            "memory of {} is too small: (memory - 20 MiB) / 2 must be at least 1 MiB",
            format_size(setting.memory_bytes)
        ));
    }
    file_writer::plan(setting, scaled(half_bytes, setting.intensity.min(1.0)))
}
