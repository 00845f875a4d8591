//! The data of a run file as plain types.
//!
//! **Invariant:** no I/O, no clock, no randomness. Absent values are `None` or a missing key, never
//! 0. Units come last in names (`delay_ns`, `size_bytes`).

#[macro_use]
mod named;

mod command_counters;
mod counters;
mod described;
pub mod description;
mod disk;
mod group;
pub mod histogram;
pub mod json;
mod line;
mod line_text;
mod machine;
mod machine_disks;
mod manifest;
mod measure;
pub mod resp1;
mod run;
mod sample;
mod script;
pub mod shown;
mod spec;
pub mod units;
pub mod whole_lines;
mod work_end;

pub use command_counters::{ACTIVE_PERMILLE, COMMAND_COUNTERS};
pub use counters::{CounterSet, Name, Unavailable, Values};
pub use disk::{BurstSpec, DiskDriver, DiskModel, DiskSpec, FileSystem, Service};
pub use group::{GroupName, GroupSpec};
pub use line::{
    AGENT_FACT, CounterRecord, DeathRecord, Delivered, End, EndStatus, Environment, Header,
    InstrumentWeight, Line, PassRecord, Phase, PhaseRecord, REMOTE_FACT, Warning, WorkEnd,
    WorkRecord,
};
pub use line_text::LineError;
pub use machine::{
    Accel, Architecture, CpuModel, MachineSpec, MmuSpec, RootPlace, RootSpec, SandboxSpec,
    Schedule, TimeModel, VmSpec,
};
pub use machine_disks::{
    DiskModule, LARGEST_NULL_BLK_BYTES, MachineDisk, SecondDisk, SecondHolds, structure_bytes,
    swap_end_bytes,
};
pub use manifest::{
    MANIFEST_SCHEMA, Manifest, ManifestAb, ManifestFactor, ManifestRun, ManifestSweep,
};
pub use measure::{COMMAND, CommandSpec, Hook, JobSpec, Measure, ProbeSpec, SESSION, SessionSpec};
pub use run::{Run, RunEncoder, RunError, RunFault};
pub use sample::{Censored, CensoredDelays, HistogramRecord, Observation, SampleRecord};
pub use script::{Command, Script, Tools};
pub use spec::{BASELINE, LoadSpec, Spec, SubjectSpec, Timing};
pub use work_end::{CPU_OF_ALL, CPU_OF_WAITED_FOR, cpu_ns, cpu_ns_of};

/// Newest run-file format that is read (`docs/run-format.md`); see [`SubjectSpec::schema`].
pub const SCHEMA: u32 = 3;
