//! What is kept: results folders of run files, manifests of experiments, results that other programs
//! printed, read back as plain types, and the published results that ship with thrashlab.
//!
//! **Invariant:** readers refuse with the number of the line and the reason; they never guess and
//! never panic, whatever the input.

pub mod curve;
mod error;
pub mod import;
pub mod manifest;
pub mod observations;
pub mod reference;
mod refusal;
pub mod resp1;
pub mod results;

pub use curve::{CurveOptions, Curves, curves};
pub use error::StoreError;
pub use observations::observations;
