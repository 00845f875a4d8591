//! Which runs are made in which order, and what happens while they are made.
//!
//! **Invariant:** nothing here prints or knows a terminal. A plan becomes runs on a
//! [`Bench`]; whatever happens is an [`Event`], and every display is a function of events.

mod bench;
mod carry_out;
mod cell_list;
mod ensemble;
mod error;
mod event;
mod job;
mod laboratory;
mod made;
mod matrix;
mod parallel;
mod plan;
mod pool;
mod profile;
mod segment;
mod simulated;
pub mod subject_arg;
mod sweep;

pub use bench::Bench;
pub use carry_out::{Carried, Outlook, aliases, carry_out, manifest, outlook};
pub use cell_list::{CellMaker, Listed, ListedCell, MadeCell, bound_to_host};
pub use ensemble::run_ensemble;
pub use error::ExperimentError;
pub use event::Event;
pub use job::{job, probe_measure};
pub use laboratory::{LabOptions, Laboratory};
pub use matrix::{MatrixPlan, MatrixResult, run_matrix};
pub use parallel::in_parallel;
pub use plan::{
    AA_FACTOR, CellPlan, Design, Order, PARAMETERS, Plan, PlanError, PlanFactor, PlanLevel,
    PlannedRun, RunList, Setting, parse_plan, parse_plan_with,
};
pub use pool::Engine;
pub use profile::{CLASSIC, Changes, DEFAULT, Profile, QUICK, SLOW};
pub use segment::Segment;
pub use simulated::{Machine, machine_text, mmu_setup, mmu_spec, simulated_run};
pub use subject_arg::{RemoteArg, SubjectArg};
pub use sweep::{Form, Quantity, SweepDraft, SweepPlan, parse_sweep, part};
