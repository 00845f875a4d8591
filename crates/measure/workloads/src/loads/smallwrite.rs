//! `smallwrite`: a file of five times the memory, written through a buffer of 1 MiB.

use super::file_writer;
use crate::workload::Workload;

const BUFFER_BYTES: u64 = 1 << 20;

pub(crate) const LOAD: Workload = Workload {
    name: "smallwrite",
    about: "a file of 5 x memory, written in chunks of 1 MiB",
    ..file_writer::workload(|setting| file_writer::plan(setting, BUFFER_BYTES))
};
