//! Results as documents and text.
//!
//! **Invariant:** no files, output or clocks; the same input gives the same bytes.

mod ab_document;
mod attribution_text;
mod bisect_text;
pub mod charts;
mod command;
mod command_counts;
mod command_parts;
mod command_ratios;
mod comparison;
mod critical_path_table;
mod diagnosis;
mod experiment;
mod figures;
mod footprint_document;
mod freeze;
mod history;
mod job;
mod matrix_document;
mod memory_job;
mod memory_profile;
pub mod page;
mod profile_difference;
mod profile_document;
mod program_run;
mod remarks;
pub mod run_profiles;
mod sampled_document;
mod session;
mod slow_paths;
mod task_table;
mod tlb_text;
mod trace_text;
mod whatif_text;
mod whole_run_text;

pub use ab_document::ab_document;
pub use attribution_text::attribution_document;
pub use bisect_text::bisect_document;
pub use comparison::comparison_document;
pub use diagnosis::{
    Watch, doctor_document, doctor_json, doctor_metrics, growth_section, pmeg_estimate_document,
    rules_document, served_metrics, unit_costs_document, waited_section,
};
pub use experiment::{
    against_itself_document, cells_document, dataset_document, death_blocks, plan_document,
};
pub use footprint_document::footprint_document;
pub use freeze::{AdviceView, freeze_advice_document, freeze_document, freeze_list_document};
pub use history::history_document;
pub use job::job_document;
pub use matrix_document::matrix_document;
pub use profile_difference::{
    difference_blocks, functions_document, profile_difference_document, with_functions,
};
pub use profile_document::{ProfileView, profile_document};
pub use program_run::{ProgramRunView, program_run_document};
pub use run_profiles::with_run_profiles;
pub use sampled_document::{
    OriginShare, SampledView, lost_records, origin_shares, sampled_document, sampled_summary,
};
pub use slow_paths::{SlowPaths, WithPaths, run_paths_document};
pub use tlb_text::{TlbRun, tlb_document};
pub use trace_text::{trace_document, trace_notes};
pub use whatif_text::{WhatIfView, whatif_document};
pub use whole_run_text::whole_run_document;
