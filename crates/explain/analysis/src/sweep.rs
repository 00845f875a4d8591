//! Sweeps: the cost of a unit of work over the levels of one parameter, and its knee.
//!
//! [`Search`] selects the next levels, and [`find`] reads the measurements. Both are functions of the
//! [`Curve`] measured so far, so a sweep can be interrupted and continued.

mod alarm;
mod batch;
mod curve;
mod find;
mod fit;
mod hysteresis;
mod moved;
mod of_runs;
mod orient;
mod pressure;
mod price;
mod price_search;
mod range;
mod remedy;
mod rows;
mod search;

pub use alarm::{Alarm, NoThreshold, PressureCosts, PressureLevel, Threshold};
pub use batch::{Batch, Purpose};
pub use curve::{Curve, End, Point, PriceSettings, Settings};
pub use find::{FaultCost, Grid, GridRow, Headroom, SweepResult, find};
pub use hysteresis::{Directions, Hysteresis, KneeOf};
pub use moved::{Moved, Mover};
pub use of_runs::{OfRun, of_run};
pub use orient::Boundary;
pub use pressure::Pressure;
pub use price::{PriceKnee, Priced, PricedLevel};
pub use range::{Range, Spacing};
pub use remedy::Remedy;
pub use rows::{Row, Verification};
pub use search::{Search, SearchSettings};
