//! What a machine loses its time to: rules over kernel counters, each priced.
//!
//! - [`Snapshot`]: all counters at one time: of the machine, its control groups and its processes.
//! - [`Interval`]: two snapshots, and what has changed between them.
//! - [`from_run`]: two snapshots out of a run file. [`Recording`]: snapshots in a file.
//! - [`UnitCosts`]: what one fault, switch or copy costs on this machine, measured.
//! - [`LostTime`]: time lost and whose time it was; [`Price`]: what a condition costs, if that is known.
//! - [`Rule`]: one condition: what triggers it, what it costs, what to do; the table is [`ALL`].
//! - [`diagnose`]: all rules over an interval; findings ranked by the time that they cost.
//!
//! **Invariant:** all of it is a pure function, so a diagnosis can be repeated from a recording;
//! the crate `survey` reads the running machine and measures its unit costs. A counter that is
//! absent makes a rule say what it lacks; it never counts as 0.

mod affected;
mod cpu_time;
mod diagnosis;
mod finding;
mod from_run;
mod interval;
mod lost_time;
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
mod waits;

pub use diagnosis::{Diagnosis, Unable, diagnose};
pub use finding::{Confidence, Evidence, Family, Finding, Scope, Severity};
pub use from_run::{LOAD, PROBER, SANDBOX, from_run};
pub use interval::Interval;
pub use lost_time::{Denominator, LostTime, Price};
pub use pmeg_estimate::PmegEstimate;
pub use recording::{RECORDING_SCHEMA, Recording, RecordingHeader, recording_line};
pub use rule::{Provocation, Rule};
pub use rules::ALL;
pub use snapshot::{Snapshot, TaskSnapshot};
pub use unit_costs::{Operation, UnitCost, UnitCosts};
