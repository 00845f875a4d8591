//! Observations as OpenMetrics, for a push gateway or the textfile collector of a node exporter.

mod family;

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Dataset, Response, Trial, Values};
use model::units::split_time_name;

use family::name;
pub use family::{Family, Kind, exposition};

/// Quantiles of the delays of a trial, with the fewest samples for each.
const QUANTILES: [(&str, f64, usize); 4] =
    [("0.5", 0.5, 1), ("0.9", 0.9, 10), ("0.99", 0.99, 100), ("0.999", 0.999, 1000)];
const PREFIX: &str = "thrashlab_";
const LOWER_BOUNDS: &str = "thrashlab_lower_bounds";
const START_TIME: &str = "thrashlab_start_time_seconds";
const TRIAL: &str = "thrashlab_trial";
/// Longest fact in a label.
const MOST_CHARS: usize = 1024;

/// A summary or gauge for each response, in seconds if it is a time, and the facts of each trial.
pub fn text(set: &Dataset) -> String {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut censored =
        Family::new(LOWER_BOUNDS, Kind::Gauge, "Samples of which only a lower bound is known.");
    let mut started =
        Family::new(START_TIME, Kind::Gauge, "When a trial began, in seconds since 1970 UTC.");
    let mut facts = Family::new(TRIAL, Kind::Info, "Facts of the system under test of a trial.");
    let metrics = metrics(set);
    for trial in &set.trials {
        let of_trial = labels(set, trial);
        for values in &trial.values {
            let Some(metric) = metrics.get(values.response.as_str()) else { continue };
            let Metric { name, kind, help, .. } = metric;
            let family =
                families.entry(name.clone()).or_insert_with(|| Family::new(name, *kind, help));
            let mut labels = of_trial.clone();
            labels.extend(values.part.clone().map(|part| ("part".to_owned(), part)));
            let response = ("response".to_owned(), values.response.clone());
            if metric.is_shared {
                labels.push(response.clone());
            }
            push(family, metric, &labels, values);
            if values.censored() > 0 {
                if !metric.is_shared {
                    labels.push(response);
                }
                censored.push("", &labels, values.censored() as f64);
            }
        }
        if let Some(unix_ns) = trial.started_unix_ns {
            started.push("", &of_trial, unix_ns as f64 / 1e9);
        }
        facts.push("_info", &with_facts(of_trial, trial), 1.0);
    }
    let others = [censored, started, facts].into_iter().filter(|family| !family.is_empty);
    let all: Vec<Family> = families.into_values().chain(others).collect();
    exposition(&all)
}

struct Metric {
    name: String,
    kind: Kind,
    factor: f64,
    /// Whether the family has several responses, which the label `response` distinguishes.
    is_shared: bool,
    help: String,
}

/// The metric of each response.
///
/// Names that become equal (`a-b`, `a.b` and `a_b`; `delay_us` and `delay_ms`) share a family,
/// which must be unique in an exposition. If its name or its samples' (`_count` and `_sum` of a
/// summary) is taken, `response_` is prepended.
fn metrics(set: &Dataset) -> BTreeMap<&str, Metric> {
    let mut sharing: BTreeMap<String, Vec<(&str, f64)>> = BTreeMap::new();
    for (response, meaning) in &set.responses {
        let (name, factor) = metric(response, meaning);
        sharing.entry(name).or_default().push((response, factor));
    }
    let values = set.trials.iter().flat_map(|trial| &trial.values);
    let several = values.filter(|values| values.samples.len() > 1);
    let several: BTreeSet<&str> = several.map(|values| values.response.as_str()).collect();
    let mut taken: BTreeSet<String> =
        [LOWER_BOUNDS, START_TIME, TRIAL, &format!("{TRIAL}_info")].map(str::to_owned).into();
    let mut metrics = BTreeMap::new();
    for (mut name, responses) in sharing {
        let (kind, suffixes) = match responses.iter().any(|(it, _)| several.contains(it)) {
            true => (Kind::Summary, ["", "_count", "_sum"].as_slice()),
            false => (Kind::Gauge, [""].as_slice()),
        };
        let samples =
            |name: &str| suffixes.iter().map(|suffix| format!("{name}{suffix}")).collect();
        let mut wanted: BTreeSet<String> = samples(&name);
        while !wanted.is_disjoint(&taken) {
            name.insert_str(PREFIX.len(), "response_");
            wanted = samples(&name);
        }
        taken.extend(wanted);
        let names: Vec<&str> = responses.iter().map(|(response, _)| *response).collect();
        let of = if kind == Kind::Summary { "the samples of a trial" } else { "a trial" };
        let help = format!("{} of {of}.", names.join(", "));
        for (response, factor) in &responses {
            let is_shared = responses.len() > 1;
            let (name, help) = (name.clone(), help.clone());
            metrics.insert(*response, Metric { name, kind, factor: *factor, is_shared, help });
        }
    }
    metrics
}

/// The metric's name with its unit, and the factor of its values.
fn metric(response: &str, meaning: &Response) -> (String, f64) {
    match (split_time_name(response), meaning.unit.as_str()) {
        (Some((stem, _, ns)), _) => (format!("{PREFIX}{}_seconds", name(stem)), ns / 1e9),
        (None, "ns/op") => (format!("{PREFIX}op_seconds"), 1e-9),
        (None, "msec") => (format!("{PREFIX}{}_seconds", name(response)), 1e-3),
        (None, _) => (format!("{PREFIX}{}", name(response)), 1.0),
    }
}

/// The labels that identify a trial: input, trial, levels, block and seed.
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

fn with_facts(mut labels: Vec<(String, String)>, trial: &Trial) -> Vec<(String, String)> {
    for (fact, value) in &trial.environment {
        let value = value.chars().take(MOST_CHARS).collect();
        labels.push((label(fact, &labels), value));
    }
    labels
}

/// A label name that differs from these and from all later ones.
fn label(text: &str, others: &[(String, String)]) -> String {
    let ours = ["input", "trial", "block", "seed", "part", "response", "quantile"];
    let mut label = name(text);
    // Names with two leading underscores are reserved.
    while label.starts_with("__") {
        label.remove(0);
    }
    while others.iter().any(|(other, _)| *other == label) || ours.contains(&label.as_str()) {
        label.push('_');
    }
    label
}

fn push(family: &mut Family, metric: &Metric, labels: &[(String, String)], values: &Values) {
    let factor = metric.factor;
    if metric.kind != Kind::Summary {
        return values.at_bounds().iter().for_each(|it| family.push("", labels, it * factor));
    }
    let mut sorted = values.at_bounds();
    sorted.sort_by(f64::total_cmp);
    for (quantile, p, least) in QUANTILES {
        if let Some(value) = stats::quantile(&sorted, p).filter(|_| sorted.len() >= least) {
            let quantile = ("quantile".to_owned(), quantile.to_owned());
            family.push("", &[labels, &[quantile]].concat(), value * factor);
        }
    }
    family.push("_count", labels, sorted.len() as f64);
    family.push("_sum", labels, sorted.iter().sum::<f64>() * factor);
}
