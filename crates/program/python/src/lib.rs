//! The native module of the Python package, `thrashlab._native`: run files as Arrow tables, and
//! curves of arrays. The rest of the package is Python that runs the `thrashlab` program.
//!
//! **Invariant:** long work runs without the interpreter's lock and checks for signals, so that
//! Ctrl-C works.

mod curve;
mod frame;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::curve::curve;
    #[pymodule_export]
    use crate::frame::{Frame, load};
}
