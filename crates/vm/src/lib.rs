//! The deterministic machine: a real kernel in QEMU under virtual time.
