//! Miss-ratio curves and working sets.
//!
//! [`StackDistances`], its sample [`SampledDistances`], [`SetStacks`] and [`WorkingSet`] take any
//! keys, [`Unit`] makes keys of pages or lines, and [`Profile`] does all for the blocks of a trace.
//! Memory grows with the number of distinct keys, not with the length of the trace.

mod distances;
mod key_table;
mod log_linear;
mod lru_stack;
mod profile;
mod sample;
mod sets;
mod space;
mod working_set;

pub use distances::StackDistances;
pub use lru_stack::LruStack;
pub use profile::{
    CurvePoint, MissRatioCurve, Profile, Profiled, Request, Sample, SetCurve, UnitCurves,
    WorkingSets,
};
pub use sample::{Estimate, SampledDistances, Sampling};
pub use sets::SetStacks;
pub use space::{CurveError, Unit};
pub use working_set::{MeanSize, Window, WorkingSet};
