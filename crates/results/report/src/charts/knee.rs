//! The curve of a sweep: cost over level, with the knee and its interval.

use curves::knee_parts;
use serde_json::Value;

use super::Data;
use render::Table;

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let sweeps = data.material.inputs.iter().filter_map(|input| input.sweep.as_ref());
    sweeps.filter_map(knee_parts).collect()
}
