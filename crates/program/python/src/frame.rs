//! Tables in Arrow's layout, and run files as tables.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, PrimitiveArray, RecordBatch,
    RecordBatchIterator, StringArray, TimestampNanosecondArray,
};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use results::{Cells, Column, LoadError, RunFiles};

/// A table in Arrow's memory layout, for pandas, polars, pyarrow and others without a copy.
#[pyclass(frozen, module = "thrashlab._native")]
pub(crate) struct Frame {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Frame {
    pub(crate) fn new(frame: Vec<Vec<Column>>) -> Result<Self, ArrowError> {
        let (mut schema, mut batches) = (None, Vec::new());
        // The words of a column are the same in all batches.
        let mut words: Vec<Option<ArrayRef>> = Vec::new();
        for columns in frame {
            words.resize(columns.len(), None);
            let (mut fields, mut arrays) = (Vec::new(), Vec::new());
            for (column, words) in columns.into_iter().zip(&mut words) {
                let (name, is_optional) = (column.name.clone(), column.is_optional);
                let array = array(column, words)?;
                fields.push(Field::new(name, array.data_type().clone(), is_optional));
                arrays.push(array);
            }
            let schema = schema.get_or_insert_with(|| Arc::new(Schema::new(fields)));
            batches.push(RecordBatch::try_new(Arc::clone(schema), arrays)?);
        }
        Ok(Self { schema: schema.unwrap_or_else(|| Arc::new(Schema::empty())), batches })
    }
}

/// A column as an array; `words` is that of the same column in an earlier batch.
fn array(column: Column, words: &mut Option<ArrayRef>) -> Result<ArrayRef, ArrowError> {
    let Column { cells, present, .. } = column;
    let present = (!present.is_empty()).then(|| NullBuffer::from(present));
    Ok(match cells {
        Cells::Small(values) => numbers::<UInt32Type>(values, present)?,
        Cells::Count(values) => numbers::<UInt64Type>(values, present)?,
        Cells::Number(values) => numbers::<Float64Type>(values, present)?,
        Cells::Flag(values) => Arc::new(BooleanArray::new(values.into(), present)),
        Cells::Time(values) => {
            let values = ScalarBuffer::from(values);
            let times = TimestampNanosecondArray::try_new(values, present)?;
            Arc::new(times.with_timezone("UTC"))
        }
        Cells::Text(values) => {
            let is_present = |row: usize| present.as_ref().is_none_or(|it| it.is_valid(row));
            let texts = values.iter().enumerate();
            let texts = texts.map(|(row, text)| is_present(row).then_some(text));
            Arc::new(texts.collect::<StringArray>())
        }
        Cells::Word(values, known) => {
            let keys = PrimitiveArray::<Int32Type>::try_new(ScalarBuffer::from(values), present)?;
            let words = words.get_or_insert_with(|| {
                Arc::new(StringArray::from_iter_values(known.all())) as ArrayRef
            });
            Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(words))?)
        }
    })
}

fn numbers<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    present: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), present)?))
}

#[pymethods]
impl Frame {
    /// The table by the Arrow PyCapsule interface; a requested schema is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        // Batches are shared, not copied.
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// Reads run files into tables by name.
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
    let loaded = py.detach(|| {
        let mut files = RunFiles::find(&paths)?;
        files.threads = threads;
        results::load(&files, go_on)
    });
    let found = loaded.map_err(|error| match error {
        LoadError::Stopped => {
            signal.unwrap_or_else(|| PyKeyboardInterrupt::new_err("stopped while loading"))
        }
        error => PyValueError::new_err(error.to_string()),
    })?;
    let tables = PyDict::new(py);
    for frame in found {
        let name = frame.table.name();
        let table = Frame::new(frame.batches)
            .map_err(|error| PyValueError::new_err(format!("columns of {name}: {error}")))?;
        tables.set_item(name, table)?;
    }
    Ok(tables)
}
