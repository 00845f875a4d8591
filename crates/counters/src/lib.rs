//! Kernel counters.
