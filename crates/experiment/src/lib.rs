//! Which runs are made in which order, and what happens while they are made.
//!
//! **Invariant:** nothing here prints or knows a terminal. A plan becomes runs on a
//! [`subject::Stage`]; whatever happens is an [`Event`], and every display is a function of events.

mod ensemble;
mod event;
mod made;
mod matrix;
mod profile;
pub mod subject_arg;

pub use ensemble::run_ensemble;
pub use event::Event;
pub use matrix::{ExperimentError, MatrixPlan, MatrixResult, Segment, probe_measure, run_matrix};
pub use profile::{CLASSIC, DEFAULT, Profile, QUICK, SLOW};
pub use subject_arg::SubjectArg;
