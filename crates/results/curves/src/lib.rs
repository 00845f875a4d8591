//! Cost over level: curves from tables, and what they show as text, tables and charts.
//!
//! **Invariant:** no files, output or clocks; the same input gives the same bytes.

mod from_table;
mod knee_chart;
mod miss_ratio_text;
mod refusal;
mod sweep_text;
mod table;

pub use from_table::{CurveOptions, Curves, curves_of_table};
pub use knee_chart::{KNEE_TEMPLATE, knee_parts};
pub use miss_ratio_text::{miss_ratio_csv, miss_ratio_document, over_entries};
pub use refusal::Refusal;
pub use sweep_text::{
    Amounts, SweepRow, SweepView, knee_sentence, movers, other_sentences, place_of, span,
    sweep_blocks, sweep_document, sweep_facts, sweep_so_far,
};
pub use table::{Table, ends_in};
