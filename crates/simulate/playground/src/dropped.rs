//! A dropped file: a table of levels and costs, or a memory trace.

use std::io::Cursor;

use analysis::sweep::{Curve, Settings, SweepResult, find};
use curves::{
    CurveOptions, Curves, Table, curves_of_table, miss_ratio_document, over_entries, sweep_document,
};
use mmu::curve::{Profile, Request as ProfileRequest, Unit};
use trace::{Block, Granularity, PAGE_SHIFT, open_stream};

use crate::reply::{Part, drawn, knee_chart, view};
use crate::request::FileRequest;

/// The name of the chart, different from that of a sweep in the same page.
const CHART: &str = "dropped";

/// The curve of a file. Fails with the reasons why it is neither a table nor a trace.
pub(crate) fn dropped(request: &FileRequest, bytes: Vec<u8>) -> Result<Part, String> {
    let name = &request.name;
    if bytes.is_empty() {
        return Err(format!("{name}: the file is empty"));
    }
    let is_chosen = request.level.is_some() || request.cost.is_some();
    let no_table = match str::from_utf8(&bytes) {
        Err(_) => "not a text".to_owned(),
        Ok(text) => match of_table(request, text) {
            Err(why) if !is_chosen => why,
            result => return result,
        },
    };
    let no_trace = match of_trace(name, bytes) {
        Ok(part) => return Ok(part),
        Err(why) => why,
    };
    Err(format!(
        "{name} is neither a table of levels and costs ({no_table}) nor a memory trace ({no_trace})"
    ))
}

/// The curve of a CSV table.
fn of_table(request: &FileRequest, text: &str) -> Result<Part, String> {
    let table = Table::read(text).map_err(|error| error.to_string())?;
    let name = request.name.as_str();
    let options = |chosen: Option<[String; 2]>| match chosen {
        None => CurveOptions::default(),
        Some([level, cost]) => {
            CurveOptions { over: Some(level), cost: Some(cost), ..CurveOptions::default() }
        }
    };
    let mut chosen = request.level.clone().zip(request.cost.clone()).map(<[String; 2]>::from);
    let mut curves = curves_of_table(name, text, &options(chosen.clone()));
    // Names that say nothing: the first two columns of numbers.
    if curves.is_err() && chosen.is_none() {
        chosen = numbers(&table);
        if chosen.is_some() {
            curves = curves_of_table(name, text, &options(chosen.clone()));
        }
    }
    let Curves { rows, by, .. } = curves.map_err(|error| match &chosen {
        Some(_) => error.to_string(),
        None => "a heading with names, and two columns of numbers, are needed".to_owned(),
    })?;
    let settings = Settings::default();
    let rows = rows.iter().map(|(label, curve)| (label.clone(), curve, find(curve, &settings)));
    let view = view(String::new(), by, rows, &settings);
    let document = drawn(sweep_document(&view), knee_chart(CHART, &view));
    Ok(Part { columns: table.names, chosen, ..Part::new(&document, true) })
}

/// The first two columns whose cells are all numbers, below a heading that is not that of a trace.
fn numbers(table: &Table) -> Option<[String; 2]> {
    let is_heading =
        |name: &String| name.parse::<f64>().is_err() && !name.eq_ignore_ascii_case("address");
    if !table.names.iter().all(is_heading) {
        return None;
    }
    let is_number = |column: &usize| {
        let cells = table.rows.iter().map(|(_, cells)| cells.get(*column));
        cells.clone().count() > 0
            && cells.into_iter().all(|cell| cell.is_some_and(|cell| cell.parse::<f64>().is_ok()))
    };
    let mut columns = (0..table.names.len()).filter(is_number);
    let names = [columns.next()?, columns.next()?].map(|column| table.names[column].clone());
    Some(names)
}

/// The miss-ratio curve of a trace, of an LRU cache of pages of 4 KiB.
fn of_trace(name: &str, bytes: Vec<u8>) -> Result<Part, String> {
    let why = |error: trace::TraceError| error.to_string();
    let (format, mut source) =
        open_stream(Box::new(Cursor::new(bytes)), Granularity::Page, None).map_err(why)?;
    let request = ProfileRequest {
        units: Unit::new(1 << PAGE_SHIFT).into_iter().collect(),
        sets: Vec::new(),
        ways: 1,
        sampling: None,
        seed: 0,
        window: None,
        process: None,
    };
    let mut profile = Profile::new(&request).map_err(|error| error.to_string())?;
    let mut block = Block::default();
    while source.next(&mut block).map_err(why)? {
        profile.block(&block).map_err(|error| error.to_string())?;
    }
    let profiled = profile.finish();
    if profiled.references == 0 {
        return Err("it has no references".to_owned());
    }
    let mut notes = vec![format!("read as {}", format.name())];
    notes.extend(source.notes().problems());
    let settings = Settings::default();
    let curves = profiled.units.iter().map(|unit| over_entries(name, unit));
    let knees: Vec<(Curve, SweepResult)> = curves
        .map(|curve| {
            let found = find(&curve, &settings);
            (curve, found)
        })
        .collect();
    let rows = knees.iter().map(|(curve, found)| (String::new(), curve, found.clone()));
    let view = view(String::new(), None, rows, &settings);
    let document = miss_ratio_document(name, &profiled, &knees, view.least_rise, &notes);
    Ok(Part::new(&drawn(document, knee_chart(CHART, &view)), true))
}
