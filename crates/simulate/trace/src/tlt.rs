//! Thrashlab's own format (`docs/trace-format.md`).

mod decode;
mod encoder;
mod events;
mod head;
mod header;
mod index;
mod reader;
mod table;
mod writer;

pub use encoder::Encoder;
pub use head::{BlockHead, PackedBlock, REFERENCES_PER_BLOCK};
pub(crate) use header::MAGIC;
pub use header::{Granularity, Header};
pub use reader::Reader;
pub use writer::{Effort, QUICK_LEVEL, SMALL_LEVEL, Writer};
