//! A report: results as sections of sentences, tables and charts.

mod command;
mod environment;
mod input;
mod jobs;
mod json;
mod material;
mod samples;
mod sections;
mod timeline;

pub use input::{Diagnosed, Input, Measurement};
pub(crate) use jobs::JobRuns;
pub use material::Material;
pub use samples::{LoadSamples, SamplePoint};
pub use sections::report;
pub use timeline::{SERIES, Series, Timeline};
