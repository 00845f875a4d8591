//! Observations as OpenMetrics: for a push gateway or the textfile collector of a node exporter,
//! so that results of nightly runs stand beside everything else that is watched.

use std::collections::BTreeMap;

use analysis::{Dataset, Response, Trial, Values};
use report::openmetrics::{Family, Kind, exposition, name};

/// Quantiles of the delays of a trial, with the samples that each wants.
const QUANTILES: [(&str, f64, usize); 4] =
    [("0.5", 0.5, 1), ("0.9", 0.9, 10), ("0.99", 0.99, 100), ("0.999", 0.999, 1000)];
/// Endings of names of times, and how many seconds they are.
const TIMES: [(&str, f64); 4] = [("_ns", 1e-9), ("_us", 1e-6), ("_ms", 1e-3), ("_s", 1.0)];
/// Longest text of a fact in a label.
const MOST_CHARS: usize = 1024;

/// Observations as one exposition: a summary or gauge for each response, and the facts of each
/// trial. Times are in seconds.
#[must_use]
pub fn text(set: &Dataset) -> String {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut censored = Family::new(
        "thrashlab_lower_bounds",
        Kind::Gauge,
        "Samples of which only a lower bound is known.",
    );
    let mut started = Family::new(
        "thrashlab_start_time_seconds",
        Kind::Gauge,
        "When a trial began, in seconds since 1970 UTC.",
    );
    let mut facts =
        Family::new("thrashlab_trial", Kind::Info, "Facts of the system under test of a trial.");
    let several: Vec<&str> = set
        .trials
        .iter()
        .flat_map(|trial| &trial.values)
        .filter(|values| values.samples.len() > 1)
        .map(|values| values.response.as_str())
        .collect();
    for trial in &set.trials {
        let of_trial = labels(set, trial);
        for values in &trial.values {
            let Some(response) = set.responses.get(&values.response) else { continue };
            let (name, factor) = metric(&values.response, response);
            let kind = match several.contains(&values.response.as_str()) {
                true => Kind::Summary,
                false => Kind::Gauge,
            };
            let family = families
                .entry(name.clone())
                .or_insert_with(|| Family::new(&name, kind, &help(&values.response, kind)));
            let mut labels = of_trial.clone();
            labels.extend(values.part.clone().map(|part| ("part".to_owned(), part)));
            push(family, kind, &labels, values, factor);
            if values.censored > 0 {
                labels.push(("response".to_owned(), values.response.clone()));
                censored.push("", &borrowed(&labels), values.censored as f64);
            }
        }
        if let Some(unix_ns) = trial.started_unix_ns {
            started.push("", &borrowed(&of_trial), unix_ns as f64 / 1e9);
        }
        facts.push("_info", &borrowed(&with_facts(of_trial, trial)), 1.0);
    }
    let others = [censored, started, facts].into_iter().filter(|family| !family.is_empty());
    let all: Vec<Family> = families.into_values().chain(others).collect();
    exposition(&all)
}

/// A metric's name, which ends in its unit, and by what values are multiplied.
fn metric(response: &str, meaning: &Response) -> (String, f64) {
    let time = TIMES.iter().find_map(|(ending, factor)| {
        // `per_s` is no time.
        Some((response.strip_suffix(ending)?, *factor)).filter(|(stem, _)| !stem.ends_with("per"))
    });
    match (time, meaning.unit.as_str()) {
        (Some((stem, factor)), _) => (format!("thrashlab_{}_seconds", name(stem)), factor),
        (None, "ns/op") => ("thrashlab_op_seconds".to_owned(), 1e-9),
        (None, "msec") => (format!("thrashlab_{}_seconds", name(response)), 1e-3),
        (None, _) => (format!("thrashlab_{}", name(response)), 1.0),
    }
}

fn help(response: &str, kind: Kind) -> String {
    match kind {
        Kind::Summary => format!("{response} of the samples of a trial."),
        _ => format!("{response} of a trial."),
    }
}

/// The labels that tell trials apart: the input, the trial, its levels, its block and its seed.
fn labels(set: &Dataset, trial: &Trial) -> Vec<(String, String)> {
    let mut labels =
        vec![("input".to_owned(), set.name.clone()), ("trial".to_owned(), trial.name.clone())];
    for (factor, level) in &trial.levels {
        labels.push((label(factor, &labels), level.clone()));
    }
    labels.extend(trial.block.map(|block| ("block".to_owned(), block.to_string())));
    labels.extend(trial.seed.map(|seed| ("seed".to_owned(), seed.to_string())));
    labels
}

/// The trial's labels and facts.
fn with_facts(mut labels: Vec<(String, String)>, trial: &Trial) -> Vec<(String, String)> {
    for (fact, value) in &trial.environment {
        let value = value.chars().take(MOST_CHARS).collect();
        labels.push((label(fact, &labels), value));
    }
    labels
}

/// A label's name that none of these has, nor any label that is added later.
fn label(text: &str, others: &[(String, String)]) -> String {
    let ours = ["input", "trial", "block", "seed", "part", "response", "quantile"];
    let mut label = name(text);
    // Names that begin with two underscores are the monitoring system's own.
    while label.starts_with("__") {
        label.remove(0);
    }
    while others.iter().any(|(other, _)| *other == label) || ours.contains(&label.as_str()) {
        label.push('_');
    }
    label
}

fn borrowed(labels: &[(String, String)]) -> Vec<(&str, &str)> {
    labels.iter().map(|(label, value)| (label.as_str(), value.as_str())).collect()
}

/// Adds what a trial has of a response.
fn push(
    family: &mut Family,
    kind: Kind,
    labels: &[(String, String)],
    values: &Values,
    factor: f64,
) {
    let labels = borrowed(labels);
    if kind != Kind::Summary {
        for value in &values.samples {
            family.push("", &labels, value * factor);
        }
        return;
    }
    let mut sorted = values.samples.clone();
    sorted.sort_by(f64::total_cmp);
    for (quantile, p, least) in QUANTILES {
        let value = stats::quantile(&sorted, p).filter(|_| sorted.len() >= least);
        if let Some(value) = value {
            let mut labels = labels.clone();
            labels.push(("quantile", quantile));
            family.push("", &labels, value * factor);
        }
    }
    family.push("_count", &labels, sorted.len() as f64);
    family.push("_sum", &labels, sorted.iter().sum::<f64>() * factor);
}
