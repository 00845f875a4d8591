//! The runs of a folder as curves over the levels of a numeric factor.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use analysis::sweep::{Curve, OfRun, Point, of_run};
use curves::{CurveOptions, Curves};
use itertools::Itertools;
use model::units::{parse_duration_ns, parse_size_bytes};
use model::{EndStatus, Header, Line, Manifest, ManifestFactor, ManifestRun};
use results::run_files::{SUFFIX, read_run};
use results::{ResultsError, manifest};

/// Fewest levels of an unnamed factor that counts as swept.
const FEWEST_LEVELS: usize = 3;
const MOST_WARNINGS: usize = 6;

pub(super) fn curves(path: &Path, options: &CurveOptions) -> Result<Curves, ResultsError> {
    let manifest = manifest::read(path)?
        .ok_or_else(|| no_sweep(path, "it has no experiment.json, which lists the levels"))?;
    curves_of_manifest(path, &manifest, options)
}

/// The curves of a manifest's runs. Fails when no factor is numeric, or a run file is unreadable.
pub fn curves_of_manifest(
    path: &Path,
    manifest: &Manifest,
    options: &CurveOptions,
) -> Result<Curves, ResultsError> {
    let (factor, unit) =
        swept(manifest, options.over.as_deref()).map_err(|why| no_sweep(path, why))?;
    let others = manifest.factors.iter().filter(|other| other.name != factor.name).collect_vec();
    let by: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
    let asked = options.cost.as_deref().or(manifest.responses.first().map(String::as_str));
    let mut rows = Vec::new();
    let mut headers = Vec::new();
    let counts: Vec<usize> = others.iter().map(|other| other.levels.len()).collect();
    for cell in stats::full_factorial(&counts) {
        let label: Vec<&str> =
            others.iter().zip(cell).map(|(other, level)| other.levels[level].as_str()).collect();
        let is_of = |run: &&ManifestRun| {
            by.iter()
                .zip(&label)
                .all(|(name, level)| run.levels.get(*name).is_some_and(|it| it == level))
        };
        let mut curve = Curve {
            name: path.to_string_lossy().into_owned(),
            parameter: factor.name.clone(),
            level_unit: unit.clone(),
            ..Curve::default()
        };
        let runs = manifest.runs.iter().filter(is_of);
        headers.extend(add_runs(&mut curve, path, manifest, runs, asked)?);
        rows.push((label.join(" "), curve));
    }
    Ok(Curves {
        by: (!by.is_empty()).then(|| by.join(" ")),
        rows,
        place: curves::place_of(&headers),
        plan: manifest.sweep.as_ref().map(|_| manifest.plan.clone()),
    })
}

fn no_sweep(path: &Path, why: impl Display) -> ResultsError {
    ResultsError::Refused(format!("{}: {why}", path.display()))
}

fn swept<'m>(
    manifest: &'m Manifest,
    over: Option<&str>,
) -> Result<(&'m ManifestFactor, String), String> {
    if let (Some(sweep), Some(factor)) = (&manifest.sweep, manifest.factors.first())
        && over.is_none_or(|over| over == factor.name)
    {
        return Ok((factor, sweep.unit.clone()));
    }
    let names = manifest.factors.iter().map(|factor| &factor.name).join(", ");
    if let Some(over) = over {
        let factor = manifest.factors.iter().find(|factor| factor.name == over);
        let factor = factor.ok_or_else(|| format!("no factor {over:?}; it has {names}"))?;
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
            "no factor has {FEWEST_LEVELS} levels and more that are numbers; it has {names}"
        )),
        _ => Err(format!("which of the factors {names} was swept? Name it with --over")),
    }
}

fn unit(levels: &[String]) -> Option<&'static str> {
    ["", "bytes", "ns"]
        .into_iter()
        .find(|unit| levels.iter().all(|level| number(level, unit).is_some()))
}

fn number(level: &str, unit: &str) -> Option<f64> {
    match unit {
        "bytes" => parse_size_bytes(level).ok().map(|bytes| bytes as f64),
        "ns" => parse_duration_ns(level).ok().map(|ns| ns as f64),
        _ => level.parse::<f64>().ok().filter(|level| level.is_finite()),
    }
}

fn add_runs<'m>(
    curve: &mut Curve,
    folder: &Path,
    manifest: &Manifest,
    runs: impl Iterator<Item = &'m ManifestRun>,
    asked: Option<&str>,
) -> Result<Vec<Header>, ResultsError> {
    let (mut headers, mut warnings) = (Vec::new(), BTreeMap::new());
    for planned in runs {
        let level = planned.levels.get(&curve.parameter);
        let Some(level) = level.and_then(|level| number(level, &curve.level_unit)) else {
            continue;
        };
        let (name, pass) = (planned.run_id.clone(), planned.block);
        let file = folder.join(format!("{name}{SUFFIX}"));
        if file.exists() {
            let run = read_run(&file)?;
            // Repeated when the sweep resumes.
            if run.status() == EndStatus::Interrupted {
                continue;
            }
            let OfRun { point, response, unit } = of_run(&run, asked);
            curve.points.push(Point { level, name, pass, ..point });
            (curve.response, curve.cost_unit) = (response, unit);
            for note in run.lines.iter().filter_map(Line::note) {
                *warnings.entry(note.to_owned()).or_insert(0) += 1;
            }
            headers.extend(run.header);
        } else if let Some(why) = manifest.sweep.as_ref().and_then(|it| it.refused.get(&name)) {
            let problem = Some(why.clone());
            curve.points.push(Point { level, name, pass, problem, ..Point::default() });
        }
    }
    curve.leave_out_small_bounds();
    curve.deterministic = !headers.is_empty() && headers.iter().all(Header::is_deterministic);
    curve.notes = notes(warnings);
    Ok(headers)
}

/// The most frequent warnings.
fn notes(warnings: BTreeMap<String, usize>) -> Vec<String> {
    let all = warnings.len();
    // Stable: equal counts stay in alphabetical order.
    let warnings = warnings.into_iter().sorted_by_key(|(_, count)| std::cmp::Reverse(*count));
    let note = |(text, count)| match count {
        1 => text,
        count => format!("{text} ({count} runs)"),
    };
    let mut notes = warnings.take(MOST_WARNINGS).map(note).collect_vec();
    if all > MOST_WARNINGS {
        notes.push(format!("{} further warnings are in the run files", all - MOST_WARNINGS));
    }
    notes
}
