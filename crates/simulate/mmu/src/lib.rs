//! Simulators of current memory-management hardware, driven by traces.
//!
//! **Invariant:** pure and deterministic: no clock, thread, environment or hidden seed.

pub mod curve;
pub mod tlb;
