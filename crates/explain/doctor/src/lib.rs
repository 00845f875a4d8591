//! Why a machine loses time: rules over kernel counters, each with a price.
//!
//! Two [`Snapshot`]s (live, of a [`Recording`], or [`from_run`]) make an [`Interval`]; [`diagnose`]
//! applies [`ALL`] rules to it and ranks the findings by the time that they cost.
//!
//! **Invariant:** all of it is pure, so a recording always yields the same diagnosis; the crate
//! `survey` reads the running machine. If a counter is absent, a rule reports what it lacks.

mod affected;
mod cpu_time;
mod diagnosis;
mod finding;
mod from_run;
mod interval;
mod lost_time;
mod memory_growth;
mod minor_faults;
mod pmeg_estimate;
mod recording;
mod rule;
mod rules;
#[cfg(test)]
#[path = "tests/sample.rs"]
mod sample;
mod snapshot;
mod threads;
mod unit_costs;
mod waited;
mod waits;

pub use diagnosis::{Diagnosis, Unable, diagnose};
pub use finding::{
    Activity, Code, Confidence, Evidence, Family, Finding, SampledCode, Scope, Severity,
};
pub use from_run::{LOAD, PROBER, SANDBOX, from_run};
pub use interval::Interval;
pub use lost_time::{Denominator, LostTime, Price};
pub use memory_growth::{MemoryGrowth, memory_growth};
pub use pmeg_estimate::PmegEstimate;
pub use recording::{RECORDING_SCHEMA, Recording, RecordingHeader, recording_line};
pub use rule::{Provocation, Rule};
pub use rules::ALL;
pub use snapshot::{COMMAND, LeftOut, Snapshot, TICK_NS, TaskSnapshot};
pub use unit_costs::{Operation, UnitCost, UnitCosts};
pub use waited::{Waited, waited};
