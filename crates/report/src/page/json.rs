//! A report as data: the results behind it, and its charts as specifications.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Input, Material, Report};
use crate::{analyse_memory_job, analyse_session, doctor_json, is_of_job, is_of_memory_job};

/// Schema of the JSON of a report.
const SCHEMA: u32 = 1;

/// Everything that the report is made of, unrounded.
#[must_use]
pub fn json(material: &Material<'_>, report: &Report) -> Value {
    let inputs = material.inputs.iter().enumerate().map(|(index, input)| of_input(index, input));
    json!({
        "schema": SCHEMA,
        "title": report.title,
        "verdicts": report.verdicts.iter().map(|verdict| &verdict.text).collect::<Vec<_>>(),
        "inputs": inputs.collect::<Vec<_>>(),
        "comparison": material.comparison,
        "notes": material.notes,
    })
}

fn of_input(index: usize, input: &Input<'_>) -> Value {
    let measurements = input.measurements(index);
    let measurements =
        measurements.iter().map(|one| json!({ "what": one.label, "matrix": one.matrix }));
    let sweeps = input
        .sweep
        .iter()
        .flat_map(|view| &view.rows)
        .map(|row| json!({ "level": row.label, "curve": row.curve, "found": row.found }));
    let diagnoses = input.diagnoses.iter().map(|one| {
        json!({ "run_id": one.run_id, "load": one.load, "diagnosis": doctor_json(&one.diagnosis) })
    });
    let job = is_of_job(&input.runs).then(|| match is_of_memory_job(&input.runs) {
        true => json!(analyse_memory_job(&input.runs, BTreeMap::new())),
        false => json!(analyse_session(&input.runs, BTreeMap::new())),
    });
    json!({
        "name": input.name,
        "measurements": measurements.collect::<Vec<_>>(),
        "job": job,
        "sweep": sweeps.collect::<Vec<_>>(),
        "grid": input.sweep.as_ref().and_then(|view| view.grid.as_ref()),
        "attribution": input.attribution,
        "diagnoses": diagnoses.collect::<Vec<_>>(),
        "environment": input.environment(),
    })
}

/// The charts by name, as Vega-Lite specifications.
#[must_use]
pub fn vega(report: &Report) -> Value {
    let all: Map<String, Value> =
        report.charts().map(|chart| (chart.name.clone(), chart.spec.clone())).collect();
    Value::Object(all)
}
