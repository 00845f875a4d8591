//! Miss-ratio curves of references in an array, which is not copied.

use mmu::curve::{Profile, Profiled, Request, Sampling, Unit};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use results::{Cells, Column};
use trace::{Access, Block, PAGE_SHIFT, PageRun, Reference};

use crate::frame::Frame;

/// References between checks for signals.
const BLOCK: usize = 1 << 16;

/// Curves of the references in an array of addresses, or of numbers of 4096-byte pages. Returns the
/// summary as JSON, and tables by name.
#[pyfunction]
#[pyo3(signature = (references, *, pages, units, sets, ways, rate, keys, seed, window))]
#[expect(clippy::too_many_arguments, reason = "Python, the only caller, names them")]
pub(crate) fn curve<'py>(
    py: Python<'py>,
    references: PyReadonlyArray1<'py, u64>,
    pages: bool,
    units: Vec<u64>,
    sets: Vec<u64>,
    ways: usize,
    rate: Option<f64>,
    keys: Option<usize>,
    seed: u64,
    window: Option<u64>,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let units = units.into_iter().map(Unit::new).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    if window == Some(0) {
        return Err(PyValueError::new_err("a window has one reference at least"));
    }
    let sampling = rate.map(Sampling::Rate).or(keys.map(Sampling::Keys));
    let request = Request { units, sets, ways, sampling, seed, window, process: None };
    let needs_lines = request.units.iter().any(|unit| unit.is_line());
    if needs_lines && pages {
        return Err(PyValueError::new_err("numbers of pages have no curve of lines"));
    }
    let profile = Profile::new(&request).map_err(wrong)?;
    // `references` keeps the array borrowed for reading, also from other threads.
    let numbers = references.as_slice()?;
    let profiled = py.detach(|| count(profile, numbers, pages, needs_lines))?;
    let tables = PyDict::new(py);
    for (name, columns) in tables_of(&profiled) {
        tables.set_item(name, Frame::new(vec![columns]).map_err(wrong)?)?;
    }
    Ok((serde_json::to_string(&profiled).map_err(wrong)?, tables))
}

fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn count(
    mut profile: Profile,
    numbers: &[u64],
    pages: bool,
    needs_lines: bool,
) -> PyResult<Profiled> {
    let mut block = Block::default();
    for piece in numbers.chunks(BLOCK) {
        Python::attach(|py| py.check_signals())?;
        block.runs.clear();
        block.references.clear();
        for number in piece {
            let page = if pages { *number } else { number >> PAGE_SHIFT };
            match block.runs.last_mut() {
                Some(run) if run.page == page => run.count += 1,
                _ => block.runs.push(PageRun { page, count: 1, fetch: false, written: false }),
            }
        }
        if needs_lines {
            let reference = |address: &u64| Reference::new(*address, Access::Load, 0);
            block.references.extend(piece.iter().map(reference));
        }
        profile.block(&block).map_err(wrong)?;
        block.first += piece.len() as u64;
    }
    Ok(profile.finish())
}

/// The curves as tables: by entries, by ways, and the working set over time.
fn tables_of(profiled: &Profiled) -> [(&'static str, Vec<Column>); 3] {
    let (mut points, mut sets, mut windows) = (Vec::new(), Vec::new(), Vec::new());
    for unit in &profiled.units {
        let unit_bytes = unit.unit_bytes;
        points.extend(unit.curve.points.iter().map(|point| (unit_bytes, point)));
        for curve in &unit.sets {
            let ways = curve.misses.iter().zip(1_u64..);
            sets.extend(ways.map(|(misses, ways)| [unit_bytes, curve.sets, ways, *misses]));
        }
        let working = unit.working_set.iter().flat_map(|working| &working.windows);
        windows.extend(working.map(|window| {
            let regions = window.regions;
            [unit_bytes, window.first, window.references, window.units, window.new_units, regions]
        }));
    }
    let curve = vec![
        whole("unit_bytes", points.iter().map(|(unit_bytes, _)| *unit_bytes)),
        whole("entries", points.iter().map(|(_, point)| point.entries)),
        whole("misses", points.iter().map(|(_, point)| point.misses)),
        real("miss_ratio", points.iter().map(|(_, point)| Some(point.miss_ratio))),
        real("low", points.iter().map(|(_, point)| point.low)),
        real("high", points.iter().map(|(_, point)| point.high)),
    ];
    let named = ["unit_bytes", "first", "references", "units", "new_units", "regions"];
    [
        ("points", curve),
        ("sets", of_rows(["unit_bytes", "sets", "ways", "misses"], &sets)),
        ("windows", of_rows(named, &windows)),
    ]
}

fn of_rows<const N: usize>(names: [&'static str; N], rows: &[[u64; N]]) -> Vec<Column> {
    let column = |(index, name)| whole(name, rows.iter().map(move |row| row[index]));
    names.into_iter().enumerate().map(column).collect()
}

fn whole(name: &'static str, values: impl Iterator<Item = u64>) -> Column {
    Column::whole(name, Cells::Count(values.collect()))
}

fn real(name: &'static str, values: impl Iterator<Item = Option<f64>> + Clone) -> Column {
    let present = values.clone().map(|value| value.is_some()).collect();
    let cells = Cells::Number(values.map(Option::unwrap_or_default).collect());
    Column { name: name.into(), cells, is_optional: true, present }
}
