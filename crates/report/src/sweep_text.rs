//! A sweep as text.

mod place;

pub use place::place_of;
