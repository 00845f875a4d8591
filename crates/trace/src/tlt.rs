//! Thrashlab's own format, as `docs/trace-format.md` describes it.

mod decode;
mod encoder;
mod events;
mod head;
mod header;
mod index;
mod input;
mod limits;
mod packed;
mod reader;
mod table;
mod varint;
mod writer;

pub use encoder::Encoder;
pub use head::BlockHead;
pub(crate) use header::MAGIC;
pub use header::{Granularity, Header};
pub use limits::REFERENCES_PER_BLOCK;
pub use packed::PackedBlock;
pub use reader::Reader;
pub use writer::{Effort, QUICK_LEVEL, SMALL_LEVEL, Writer};
