//! Miss-ratio curves and working sets.
//!
//! - [`StackDistances`]: how an LRU cache of any number of entries does on a trace, exactly and for
//!   all sizes in one pass.
//! - [`SampledDistances`]: the same from a sample of the pages, with bounds.
//! - [`SetStacks`]: for a number of sets, all numbers of ways.
//! - [`WorkingSet`]: how much is in use within windows of time.
//! - [`Profile`]: all of these for the blocks of a trace.
//!
//! The first four take keys, whatever these stand for; [`Unit`] makes keys of pages or lines. Memory
//! goes with the number of distinct keys, not with the length of the trace.

mod distances;
mod log_linear;
mod lru_stack;
mod profile;
mod profiled;
mod sample;
mod sets;
mod space;
mod table;
mod times;
mod working_set;

pub use distances::StackDistances;
pub use lru_stack::LruStack;
pub use profile::{Profile, Request};
pub use profiled::{
    CurvePoint, MissRatioCurve, Profiled, Sample, SetCurve, UnitCurves, WorkingSets,
};
pub use sample::{Estimate, SampledDistances, Sampling};
pub use sets::SetStacks;
pub use space::{CurveError, Unit};
pub use working_set::{MeanSize, Window, WorkingSet};
