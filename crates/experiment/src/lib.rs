//! Matrix, experiment, sweep and bisection: searches that request runs from a [`Driver`].
//!
//! **Invariant:** nothing here prints or knows a terminal. Displays are functions of [`Event`]s.

mod bisect;
mod carry_out;
mod cell_list;
mod driver;
mod error;
mod event;
mod execute;
mod experiment;
mod job;
mod laboratory;
mod machines;
mod made;
mod matrix;
mod parallel;
mod plan;
mod profile;
mod results_folder;
mod seeds;
mod segment;
mod simulated;
pub mod subject_arg;
mod sweep;

pub use bisect::{Bisection, CommandSteps, LevelSteps, Steps, StepsOfPlan};
pub use carry_out::{Carried, Outlook};
pub use cell_list::{CellMaker, MadeCell};
pub use driver::{Driver, DriverOptions};
pub use error::ExperimentError;
pub use event::Event;
pub use experiment::{Experiment, PlanChanges};
pub use job::{job, load_spec, probe_measure};
pub use matrix::MatrixPlan;
pub use parallel::in_parallel;
pub use plan::{AA_FACTOR, CellPlan, PARAMETERS, Plan, PlanError, Setting, job_name, parse_plan};
pub use profile::{TimingChanges, timing};
pub use seeds::{Seeds, seeds};
pub use segment::Segment;
pub use simulated::{Machine, machine_text, mmu_setup, mmu_spec, simulated_run};
pub use subject_arg::SubjectArg;
pub use sweep::{Form, Quantity, SearchArgs, Sweep, SweepPlan, TypedSweep, parse_sweep};
