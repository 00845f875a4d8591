//! Tables that any reader of Arrow takes, and how run files become tables.

use std::path::PathBuf;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use frames::{LoadError, Table};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// A table in Arrow's memory layout, which pandas, polars, pyarrow and others take without a copy.
#[pyclass(frozen, module = "thrashlab._native")]
pub(crate) struct Frame(Table);

impl Frame {
    pub(crate) fn new(table: Table) -> Self {
        Self(table)
    }
}

#[pymethods]
impl Frame {
    /// The table by the Arrow PyCapsule interface; what is asked of its schema is left to who asks.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = FFI_ArrowArrayStream::new(self.0.reader());
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.rows()
    }
}

/// Reads run files into tables, by their names.
#[pyfunction]
pub(crate) fn load<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let mut signal = None;
    let go_on = || match Python::attach(|py| py.check_signals()) {
        Ok(()) => true,
        Err(raised) => {
            signal = Some(raised);
            false
        }
    };
    let loaded = py.detach(|| frames::load(&paths, threads, go_on));
    let found = loaded.map_err(|error| match error {
        LoadError::Stopped => {
            signal.unwrap_or_else(|| PyKeyboardInterrupt::new_err("stopped while loading"))
        }
        error => PyValueError::new_err(error.to_string()),
    })?;
    let tables = PyDict::new(py);
    for (name, table) in found.tables() {
        tables.set_item(name, Frame(table))?;
    }
    Ok(tables)
}
