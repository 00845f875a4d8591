//! hyperfine's JSON.

mod read;
mod write;

pub(crate) use read::read;
pub use write::{Group, text};
