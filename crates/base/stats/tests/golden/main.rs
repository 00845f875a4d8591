//! Our numbers against SciPy, brute force and R; the programs in this folder computed them.

mod comparison;
mod estimators;
mod support;
