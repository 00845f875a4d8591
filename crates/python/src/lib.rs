//! The native module of the Python package, `thrashlab._native`: run files to Arrow, and curves of
//! arrays. All else of the package is Python, and runs the `thrashlab` program.
//!
//! **Invariant:** as thin as the command line. What takes long runs without the interpreter's lock
//! and looks for signals, so that Ctrl-C works.

mod curve;
mod frame;

use pyo3::prelude::*;

/// The native part of thrashlab.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::curve::curve;
    #[pymodule_export]
    use crate::frame::{Frame, load};
}
