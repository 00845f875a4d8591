//! The results behind a report as data.

use std::collections::BTreeMap;

use render::Verdict;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Input, Material};
use crate::doctor_json;
use analysis::{MemoryJob, Session, is_of_job, is_of_memory_job};

/// Schema of the JSON of a report.
const SCHEMA: u32 = 1;

/// Everything that a report is made of, unrounded.
pub(super) struct ReportData<'a> {
    pub(super) material: &'a Material<'a>,
    pub(super) title: String,
    pub(super) verdicts: Vec<Verdict>,
}

impl Serialize for ReportData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inputs = self.material.inputs.iter().enumerate();
        let inputs = inputs.map(|(index, input)| of_input(index, input));
        let value = json!({
            "schema": SCHEMA,
            "title": self.title,
            "verdicts": self.verdicts.iter().map(|verdict| &verdict.text).collect::<Vec<_>>(),
            "inputs": inputs.collect::<Vec<_>>(),
            "comparison": self.material.comparison,
            "notes": self.material.notes,
        });
        value.serialize(serializer)
    }
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
