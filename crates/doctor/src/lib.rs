//! What a machine loses its time to: rules over kernel counters, each priced.
//!
//! - [`Snapshot`]: all counters of one moment: of the machine, its control groups and its processes.
//! - [`Interval`]: two snapshots, and what has changed between them.
//! - [`from_run`]: two snapshots out of a run file.
//! - [`UnitCosts`]: what one fault, switch or copy costs on this machine, measured.
//! - [`LostTime`]: time lost and whose time it was; [`Price`]: what a condition costs, if that is known.
//! - [`Rule`]: one condition: what triggers it, what it costs, what to do; the table is [`ALL`].
//! - [`Survey`]: snapshots of the running machine. [`Recording`]: snapshots in a file.
//! - [`diagnose`]: all rules over an interval; findings ranked by the time that they cost.
//!
//! **Invariant:** everything but the readers is a pure function, so a diagnosis can be repeated
//! from a recording. A counter that is absent makes a rule say what it lacks; it never counts as 0.

mod affected;
mod calibrate;
mod cost_cache;
mod cpu_time;
mod diagnosis;
mod evidence;
mod family;
mod finding;
mod from_run;
mod interval;
mod live;
mod lost_time;
mod minor_faults;
mod pmeg_estimate;
mod recording;
mod rule;
mod rules;
#[cfg(test)]
mod sample;
mod snapshot;
mod threads;
mod unit_costs;
mod waits;

pub use calibrate::calibrate;
pub use cost_cache::{CostSource, cached_or_measured, measured_anew};
pub use diagnosis::{Diagnosis, Unable, diagnose};
pub use evidence::Evidence;
pub use family::Family;
pub use finding::{Confidence, Finding, Scope, Severity};
pub use from_run::{FromRunError, LOAD, PROBER, SANDBOX, from_run};
pub use interval::{Change, Interval};
pub use live::Survey;
pub use lost_time::{Denominator, LostTime, Price};
pub use pmeg_estimate::PmegEstimate;
pub use recording::{RECORDING_SCHEMA, Recording, RecordingError, RecordingHeader, recording_line};
pub use rule::{Provocation, Rule, Verdict};
pub use rules::ALL;
pub use snapshot::{Snapshot, TaskSnapshot};
pub use unit_costs::{Operation, UnitCost, UnitCosts};
