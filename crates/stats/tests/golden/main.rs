//! Our numbers against SciPy, brute force and R; the programs beside this made them.

mod comparison;
mod estimators;
mod support;
