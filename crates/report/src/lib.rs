//! Results as text.
//!
//! **Invariant:** strings out. Nothing here opens a file, prints, or knows a clock; the same input
//! gives the same bytes.

mod against_itself_text;
mod attribution_text;
mod bisect_text;
pub mod charts;
mod comparison;
mod dataset;
mod deaths_text;
mod diagnosis;
mod experiment_text;
mod footprint_document;
mod matrix_document;
mod matrix_resp1;
mod memory_job;
mod miss_ratio_text;
pub mod openmetrics;
pub mod page;
mod program_run;
mod remarks;
pub mod resp1;
mod session;
mod sweep_text;
mod tlb_text;
mod trace_text;
mod whatif_text;
mod whole_run_text;
mod why_slow;

pub use against_itself_text::against_itself_text;
pub use attribution_text::{attribution_text, ledger_text};
pub use bisect_text::bisect_text;
pub use comparison::{comparison_document, comparison_text};
pub use dataset::dataset_document;
pub use deaths_text::deaths_text;
pub use diagnosis::{
    DoctorView, doctor_document, doctor_json, doctor_metrics, pmeg_estimate_document,
    rules_document, unit_costs_document,
};
pub use experiment_text::{cells_text, plan_text};
pub use footprint_document::{FootprintView, footprint_document};
pub use matrix_document::matrix_document;
pub use matrix_resp1::{resp1_table, verbose_lines};
pub use memory_job::memory_job_document;
pub use miss_ratio_text::{MissRatioView, miss_ratio_csv, miss_ratio_document};
pub use program_run::{ProgramRunView, program_run_document};
pub use render::columns;
pub use session::session_document;
pub use sweep_text::{SweepRow, SweepView, place_of, sweep_so_far, sweep_text};
pub use tlb_text::{TlbRun, tlb_document};
pub use trace_text::{TraceView, trace_document, trace_notes};
pub use whatif_text::{Gain, Tried, WhatIf, whatif_document};
pub use whole_run_text::{WholeRun, whole_run_document};
