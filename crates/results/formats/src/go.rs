//! Go benchmark lines.

mod events;
mod read;
mod write;

pub(crate) use events::output;
pub(crate) use read::{is_result, read};
pub use write::{Each, write};
