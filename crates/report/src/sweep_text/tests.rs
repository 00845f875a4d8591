//! Texts of sweeps.
