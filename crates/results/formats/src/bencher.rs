//! Observations in the Bencher Metric Format (<https://bencher.dev/docs/reference/bencher-metric-format>).
//!
//! A benchmark has measures, and a measure has a value and perhaps the limits of its values.

use std::collections::BTreeMap;

use analysis::{Dataset, Response, Trial, Values};
use model::units::split_time_name;
use serde_json::{Map, Value, json};

/// Longest name of a benchmark and of a measure that Bencher accepts, in characters.
const MOST_CHARS: (usize, usize) = (1024, 64);

/// A benchmark for each combination of levels and part, with a measure for each response: the
/// median of the trials' medians, with the lowest and the highest of several trials as limits.
/// Trials that do not count, and lower bounds as the only values, are left out. `None` if nothing
/// is left.
pub fn text(set: &Dataset) -> Option<String> {
    let mut benchmarks: BTreeMap<String, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for trial in &set.trials {
        for values in trial.values.iter().filter(|_| trial.failed() == Some(false)) {
            let Some(response) = set.responses.get(&values.response) else { continue };
            let Some(median) = values.exact_median() else { continue };
            let (measure, factor) = measure(&values.response, response);
            let benchmark = benchmarks.entry(benchmark(set, trial, values)).or_default();
            benchmark.entry(measure).or_default().push(median * factor);
        }
    }
    let all: Map<String, Value> = benchmarks
        .into_iter()
        .map(|(name, measures)| {
            let measures =
                measures.into_iter().filter_map(|(it, found)| Some((it, metric(&found)?)));
            (name, Value::Object(measures.collect()))
        })
        .collect();
    (!all.is_empty()).then(|| format!("{:#}\n", Value::Object(all)))
}

fn metric(found: &[f64]) -> Option<Value> {
    let value = stats::median(found)?;
    if found.len() == 1 {
        return Some(json!({ "value": value }));
    }
    let lower = found.iter().copied().fold(f64::INFINITY, f64::min);
    let upper = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(json!({ "value": value, "lower_value": lower, "upper_value": upper }))
}

/// The levels with the names of their factors, and the part; `all` without either.
fn benchmark(set: &Dataset, trial: &Trial, values: &Values) -> String {
    let level = |name: &String| Some(format!("{name}={}", trial.levels.get(name)?));
    let levels = set.factors.iter().filter_map(|factor| level(&factor.name));
    let part = values.part.iter().map(|part| format!("part={part}"));
    let parts: Vec<String> = levels.chain(part).collect();
    let name = if parts.is_empty() { "all".to_owned() } else { parts.join(", ") };
    name.chars().take(MOST_CHARS.0).collect()
}

/// The measure and the factor of its values: times are in ns, as Bencher's own latency is.
fn measure(response: &str, meaning: &Response) -> (String, f64) {
    let (name, factor) = match split_time_name(response) {
        Some((stem, _, ns)) if !meaning.more_is_better() => (format!("{stem}_ns"), ns),
        _ => (response.to_owned(), 1.0),
    };
    (name.chars().take(MOST_CHARS.1).collect(), factor)
}

#[cfg(test)]
mod tests {
    use analysis::Factor;
    use model::Observation;

    use super::*;

    fn set(values: Vec<Vec<Observation>>) -> Dataset {
        let mut set = Dataset::default();
        set.factors.push(Factor { name: "load".to_owned(), levels: vec!["idle".to_owned()] });
        let unit = Response { unit: "us".to_owned(), ..Response::default() };
        set.responses.insert("delay_us".to_owned(), unit);
        set.trials = values
            .into_iter()
            .map(|samples| Trial {
                levels: [("load".to_owned(), "idle".to_owned())].into(),
                values: vec![Values { part: None, response: "delay_us".to_owned(), samples }],
                ..Trial::default()
            })
            .collect();
        set
    }

    #[test]
    fn trials_are_one_metric_with_limits_and_times_are_in_ns() {
        let trials = [3.0, 1.0, 2.0].map(|it| vec![Observation::exact(it)]).to_vec();
        let read: Value = serde_json::from_str(&text(&set(trials)).unwrap()).unwrap();
        let metric = json!({ "value": 2000.0, "lower_value": 1000.0, "upper_value": 3000.0 });
        assert_eq!(read, json!({ "load=idle": { "delay_ns": metric } }));
        let one = text(&set(vec![vec![Observation::exact(4.0)]])).unwrap();
        let read: Value = serde_json::from_str(&one).unwrap();
        assert_eq!(read["load=idle"]["delay_ns"], json!({ "value": 4000.0 }));
    }

    #[test]
    fn lower_bounds_are_no_values() {
        let bound = Observation { value: 5.0, is_lower_bound: true };
        assert_eq!(text(&set(vec![vec![bound]])), None);
        assert_eq!(text(&Dataset::default()), None);
    }
}
