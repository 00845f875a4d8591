//! A report: results as sections of sentences, tables and charts.

mod command;
mod input;
mod samples;
mod sections;
mod timeline;

pub use input::{Diagnosed, Input, Material};
pub(crate) use input::{JobRuns, Measurement};
pub(crate) use samples::{LoadSamples, outcome, thinned};
pub use sections::report;
pub(crate) use timeline::SERIES;
pub use timeline::Timeline;
