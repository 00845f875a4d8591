//! Matrix, experiment, comparison of two levels, sweep and bisection: searches that request runs
//! from a [`Driver`].
//!
//! **Invariant:** nothing here prints or knows a terminal. Displays are functions of [`Event`]s.

mod ab;
mod bisect;
mod carry_out;
mod cell_list;
mod deterministic;
mod driver;
mod error;
mod event;
mod execute;
mod experiment;
mod freeze;
mod history;
mod job;
mod laboratory;
mod limit;
mod machines;
mod matrix;
mod parallel;
mod plan;
mod profile;
mod results_folder;
mod run_result;
mod segment;
mod simulated;
mod simulated_levels;
pub mod subject_arg;
mod sweep;
pub mod typed;
mod typed_ab;

pub use ab::Ab;
pub use bisect::{
    Bisection, Check, CommandSteps, KernelSteps, LevelSteps, Steps, StepsOfKernels, StepsOfPlan,
};
pub use carry_out::{Outlook, RunTally};
pub use cell_list::{CellMaker, CellResult};
pub use driver::{Driver, DriverOptions};
pub use error::ExperimentError;
pub use event::Event;
pub use experiment::{Experiment, PlanChanges};
pub use freeze::{
    DEFAULT_KERNEL, FreezeOutcome, FreezeSuite, Policy, Scenario, freeze_results, known_freezes,
};
pub use history::{Fleet, KernelHistory, RequestedKernels, Suite, history_folder, read_history};
pub use job::{TypedJob, as_planned, is_in_this_folder, size_of, times_command, with_full_names};
pub use limit::{LimitArgs, limit};
pub use matrix::MatrixPlan;
pub use parallel::in_parallel;
pub use plan::{AA_FACTOR, CellPlan, PARAMETERS, Plan, PlanError, is_parameter, parse_plan};
pub use profile::TimingChanges;
pub use segment::Segment;
pub use simulated::machine_text;
pub use simulated_levels::{SimulatedLevels, SimulatedRun};
pub use subject_arg::{SubjectArg, is_here, is_live_group};
pub use sweep::{Form, Quantity, SearchArgs, Sweep, SweepPlan, parameter_of, parse_sweep};
pub use typed_ab::TypedAb;
