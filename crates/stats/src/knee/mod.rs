//! The knee: the level at which the cost per unit of work leaves its plateau.

mod shape;

pub use shape::{Knee, KneeKind, KneeSettings, Level, NoKnee, OtherKnee, Shape, WhyNoKnee};
