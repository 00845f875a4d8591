//! Kernels at hand: found, unpacked, described, with their modules in the order of their dependencies.
