//! Simulators of memory-management hardware of today.
//!
//! - [`tlb`]: translation look-aside buffers, page-walk caches and page walks, driven by traces.
//! - [`curve`]: miss-ratio curves and working sets of traces, for all sizes at once.
//!
//! **Invariant:** pure and deterministic: no clock, thread, environment or hidden seed. Same input
//! and seed, same result, everywhere.

pub mod curve;
pub mod tlb;
