//! Simulators of memory-management hardware.
//!
//! - [`sun4`]: machines whose page tables live in a small fixed store of groups ("pmegs"), with the
//!   operating system that shares them out, its scheduler, and programs that it runs.
//! - [`tlb`]: translation look-aside buffers, page-walk caches and page walks of today, driven by
//!   traces.
//! - [`curve`]: miss-ratio curves and working sets of traces, for all sizes at once.
//!
//! **Invariant:** pure and deterministic: no clock, thread, environment or hidden seed. Same input
//! and seed, same result, everywhere.

pub mod curve;
mod machine;
pub mod sun4;
pub mod tlb;

pub use machine::{Machine, MachineError};
