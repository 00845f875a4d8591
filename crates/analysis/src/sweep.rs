//! Sweeps: the cost of a unit of work over the levels of one parameter, and where it leaves its
//! plateau.
//!
//! [`Search`] says which levels to measure next, [`find`] what the measurements say. Both are
//! functions of the [`Curve`] measured so far, so a sweep can be broken off and gone on with.

mod curve;
mod fault_cost;
mod find;
mod fit;
mod grid;
mod hysteresis;
mod moved;
mod of_runs;
mod orient;
mod range;
mod rows;
mod search;

pub use curve::{Curve, End, Point, Settings};
pub use fault_cost::FaultCost;
pub use find::{Found, Headroom, find};
pub use grid::{Grid, GridRow};
pub use hysteresis::{Directions, Hysteresis, KneeOf};
pub use moved::{Moved, Mover};
pub use of_runs::{OfRun, of_run};
pub use orient::Boundary;
pub use range::{Range, Spacing};
pub use rows::{Row, Verification};
pub use search::{Batch, Purpose, Search, SearchSettings};
