//! The data behind a report.

use std::collections::BTreeMap;

use render::Verdict;
use serde_json::{Value, json};

use super::{Input, Material};
use crate::doctor_json;
use analysis::{MemoryJob, Session, is_of_job, is_of_memory_job};

const SCHEMA: u32 = 1;

pub(super) fn data(material: &Material<'_>, title: &str, verdicts: &[Verdict]) -> Value {
    let inputs = material.inputs.iter().enumerate().map(of_input);
    json!({
        "schema": SCHEMA,
        "title": title,
        "verdicts": verdicts.iter().map(|verdict| verdict.text.as_str()).collect::<Value>(),
        "inputs": inputs.collect::<Value>(),
        "comparison": material.comparison,
        "notes": material.notes,
    })
}

fn of_input((index, input): (usize, &Input<'_>)) -> Value {
    let measurements = input.measurements(index).into_iter();
    let measurements = measurements.map(|one| json!({ "what": one.label, "matrix": one.matrix }));
    let sweeps = input.sweep.iter().flat_map(|view| &view.rows);
    let sweeps =
        sweeps.map(|row| json!({ "level": row.label, "curve": row.curve, "found": row.found }));
    let diagnoses = input.diagnoses.iter().map(|one| {
        json!({ "run_id": one.run_id, "load": one.load, "diagnosis": doctor_json(&one.diagnosis) })
    });
    let job = is_of_job(&input.runs).then(|| match is_of_memory_job(&input.runs) {
        true => json!(MemoryJob::from_runs(&input.runs, BTreeMap::new())),
        false => json!(Session::from_runs(&input.runs, BTreeMap::new())),
    });
    json!({
        "name": input.name,
        "measurements": measurements.collect::<Value>(),
        "job": job,
        "sweep": sweeps.collect::<Value>(),
        "grid": input.sweep.as_ref().and_then(|view| view.grid.as_ref()),
        "attribution": input.attribution,
        "diagnoses": diagnoses.collect::<Value>(),
        "environment": input.environment(),
    })
}
