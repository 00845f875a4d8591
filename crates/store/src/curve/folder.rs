//! The runs of a folder as curves: the levels of a numeric factor, which the manifest gives them.

use std::collections::BTreeMap;
use std::path::Path;

use analysis::sweep::{Curve, OfRun, Point, of_run};
use model::units::{parse_duration_ns, parse_size_bytes};
use model::{EndStatus, Header, Manifest, ManifestFactor, ManifestRun, Run};

use super::{CurveOptions, Curves};
use crate::error::StoreError;
use crate::manifest;
use crate::results::{SUFFIX, read_run};

/// Fewest levels of a factor that is taken for a sweep without being named.
const FEWEST_LEVELS: usize = 3;
/// Most different warnings that are told.
const MOST_WARNINGS: usize = 6;

pub(super) fn curves(path: &Path, options: &CurveOptions) -> Result<Curves, StoreError> {
    let manifest = manifest::read(path)?.ok_or_else(|| {
        let why = "it has no experiment.json, which says what the levels are".to_owned();
        StoreError::NoSweep { path: path.to_owned(), why }
    })?;
    curves_of_manifest(path, &manifest, options)
}

/// The curves of those runs of a folder that stand in a manifest.
///
/// # Errors
/// When no factor of it is numeric, or a run file cannot be read.
pub fn curves_of_manifest(
    path: &Path,
    manifest: &Manifest,
    options: &CurveOptions,
) -> Result<Curves, StoreError> {
    let no_sweep = |why: String| StoreError::NoSweep { path: path.to_owned(), why };
    let (factor, unit) = swept(manifest, options.over.as_deref()).map_err(no_sweep)?;
    let read = Read { path, manifest, factor, unit, response: options };
    let mut made = Curves { by: by(manifest, factor), ..Curves::default() };
    made.plan = manifest.sweep.as_ref().map(|_| manifest.plan.clone());
    let mut headers = Vec::new();
    for label in labels(manifest, factor) {
        let (curve, own) = read.curve(&label)?;
        headers.extend(own);
        made.rows.push((label.join(" "), curve));
    }
    made.place = report::place_of(&headers);
    Ok(made)
}

/// The factor that was swept and the unit of its levels.
fn swept<'m>(
    manifest: &'m Manifest,
    over: Option<&str>,
) -> Result<(&'m ManifestFactor, String), String> {
    if let (Some(sweep), Some(factor)) = (&manifest.sweep, manifest.factors.first())
        && over.is_none_or(|over| over == factor.name)
    {
        return Ok((factor, sweep.unit.clone()));
    }
    let names = || -> String {
        let names: Vec<&str> = manifest.factors.iter().map(|factor| factor.name.as_str()).collect();
        names.join(", ")
    };
    if let Some(over) = over {
        let factor = manifest.factors.iter().find(|factor| factor.name == over);
        let factor = factor.ok_or_else(|| format!("no factor {over:?}; it has {}", names()))?;
        let unit = unit(&factor.levels);
        let unit = unit.ok_or_else(|| format!("the levels of {over} are not all numbers"))?;
        return Ok((factor, unit.to_owned()));
    }
    let numeric: Vec<(&ManifestFactor, &str)> = manifest
        .factors
        .iter()
        .filter(|factor| factor.levels.len() >= FEWEST_LEVELS)
        .filter_map(|factor| Some((factor, unit(&factor.levels)?)))
        .collect();
    match numeric[..] {
        [(factor, unit)] => Ok((factor, unit.to_owned())),
        [] => Err(format!(
            "no factor has {FEWEST_LEVELS} levels and more that are numbers; it has {}",
            names()
        )),
        _ => Err(format!("which of the factors {} was swept? Name it with --over", names())),
    }
}

/// The unit in which all levels are numbers.
fn unit(levels: &[String]) -> Option<&'static str> {
    ["", "bytes", "ns"]
        .into_iter()
        .find(|unit| levels.iter().all(|level| number(level, unit).is_some()))
}

/// A level as a number.
fn number(level: &str, unit: &str) -> Option<f64> {
    match unit {
        "bytes" => parse_size_bytes(level).ok().map(|bytes| bytes as f64),
        "ns" => parse_duration_ns(level).ok().map(|ns| ns as f64),
        _ => level.parse::<f64>().ok().filter(|level| level.is_finite()),
    }
}

/// The other factors, if there are any.
fn by(manifest: &Manifest, swept: &ManifestFactor) -> Option<String> {
    let others = manifest.factors.iter().filter(|factor| factor.name != swept.name);
    let names: Vec<&str> = others.map(|factor| factor.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

/// The combinations of the other factors' levels, in their order.
fn labels(manifest: &Manifest, swept: &ManifestFactor) -> Vec<Vec<String>> {
    let others: Vec<&ManifestFactor> =
        manifest.factors.iter().filter(|factor| factor.name != swept.name).collect();
    let counts: Vec<usize> = others.iter().map(|factor| factor.levels.len()).collect();
    if counts.is_empty() {
        return vec![Vec::new()];
    }
    let label = |cell: Vec<usize>| {
        let levels = others.iter().zip(cell);
        levels.map(|(factor, level)| factor.levels[level].clone()).collect()
    };
    stats::full_factorial(&counts).into_iter().map(label).collect()
}

struct Read<'a> {
    path: &'a Path,
    manifest: &'a Manifest,
    factor: &'a ManifestFactor,
    unit: String,
    response: &'a CurveOptions,
}

impl Read<'_> {
    /// The curve of one combination of the other factors, with the headers of its runs.
    fn curve(&self, label: &[String]) -> Result<(Curve, Vec<Header>), StoreError> {
        let manifest = self.manifest;
        let others: Vec<&ManifestFactor> =
            manifest.factors.iter().filter(|factor| factor.name != self.factor.name).collect();
        let is_of = |run: &&ManifestRun| {
            others
                .iter()
                .zip(label)
                .all(|(factor, level)| run.levels.get(&factor.name) == Some(level))
        };
        let mut curve = Curve {
            name: self.path.to_string_lossy().into_owned(),
            parameter: self.factor.name.clone(),
            level_unit: self.unit.clone(),
            deterministic: true,
            ..Curve::default()
        };
        let (mut headers, mut warnings) = (Vec::new(), BTreeMap::new());
        let asked =
            self.response.cost.as_deref().or(manifest.responses.first().map(String::as_str));
        for planned in manifest.runs.iter().filter(is_of) {
            let level = planned.levels.get(&self.factor.name);
            let Some(level) = level.and_then(|level| number(level, &self.unit)) else { continue };
            let own = Point {
                level,
                name: planned.run_id.clone(),
                pass: planned.block,
                ..Point::default()
            };
            let file = self.path.join(format!("{}{SUFFIX}", planned.run_id));
            if file.exists() {
                let run = read_run(&file)?;
                // It is made again when the sweep goes on.
                if run.status() == EndStatus::Interrupted {
                    continue;
                }
                let OfRun { point, response, unit } = of_run(&run, asked);
                curve.points.push(Point { level, name: own.name, pass: own.pass, ..point });
                (curve.response, curve.cost_unit) = (response, unit);
                count_warnings(&run, &mut warnings);
                headers.extend(run.header);
            } else if let Some(why) = refused(manifest, &planned.run_id) {
                curve.points.push(Point { problem: Some(why.to_owned()), ..own });
            }
        }
        curve.leave_out_small_bounds();
        curve.deterministic = !headers.is_empty() && headers.iter().all(Header::is_deterministic);
        curve.notes = told(warnings);
        Ok((curve, headers))
    }
}

fn refused<'m>(manifest: &'m Manifest, run_id: &str) -> Option<&'m String> {
    manifest.sweep.as_ref()?.refused.get(run_id)
}

fn count_warnings(run: &Run, warnings: &mut BTreeMap<String, usize>) {
    for line in &run.lines {
        if let Some(note) = line.note() {
            *warnings.entry(note.to_owned()).or_insert(0) += 1;
        }
    }
}

/// The most frequent warnings.
fn told(warnings: BTreeMap<String, usize>) -> Vec<String> {
    let all = warnings.len();
    let mut warnings: Vec<(String, usize)> = warnings.into_iter().collect();
    // A stable sort: equal ones stay in the order of their words.
    warnings.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut notes: Vec<String> = warnings
        .into_iter()
        .take(MOST_WARNINGS)
        .map(|(text, count)| match count {
            1 => text,
            count => format!("{text} ({count} runs)"),
        })
        .collect();
    if all > MOST_WARNINGS {
        notes.push(format!("{} further warnings stand in the run files", all - MOST_WARNINGS));
    }
    notes
}
