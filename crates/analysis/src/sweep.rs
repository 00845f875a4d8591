//! Sweeps: the cost of a unit of work over the levels of one parameter, and where it leaves its
//! plateau.

mod curve;

pub use curve::{Curve, Point};
