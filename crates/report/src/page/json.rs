//! The results behind a report as data.

use std::collections::BTreeMap;

use render::Verdict;
use serde_json::{Value, json};

use super::{Input, Material};
use crate::doctor_json;
use analysis::{MemoryJob, Session, is_of_job, is_of_memory_job};

const SCHEMA: u32 = 1;

/// Everything that a report is made of, unrounded.
pub(super) fn data(material: &Material<'_>, title: &str, verdicts: &[Verdict]) -> Value {
    let inputs = material.inputs.iter().enumerate();
    let inputs = inputs.map(|(index, input)| of_input(index, input));
    json!({
        "schema": SCHEMA,
        "title": title,
        "verdicts": verdicts.iter().map(|verdict| &verdict.text).collect::<Vec<_>>(),
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
        true => json!(MemoryJob::from_runs(&input.runs, BTreeMap::new())),
        false => json!(Session::from_runs(&input.runs, BTreeMap::new())),
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
