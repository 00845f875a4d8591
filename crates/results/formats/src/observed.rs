//! The table `observations`, a row per value with all that it means: what reads it back and what
//! writes it.

mod read;
mod write;

pub(crate) use read::{is_of_observations, read};
pub use write::observed;
