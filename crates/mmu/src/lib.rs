//! Simulators of current memory-management hardware.
//!
//! - [`tlb`]: translation look-aside buffers, page-walk caches and page walks, driven by traces.
//! - [`curve`]: miss-ratio curves and working sets of traces, for all sizes at once.
//!
//! **Invariant:** pure and deterministic: no clock, thread, environment or hidden seed.

pub mod curve;
pub mod tlb;
