//! The rows of a resp1 output as observations.
//!
//! resp1 printed what is left of its delays: low, high, median and average. The points themselves
//! are not there, so two outputs can be compared by these figures and by nothing that needs to
//! know how the points scatter.

use std::collections::BTreeMap;

use analysis::{Dataset, Factor, Response, Trial, Values};
use model::Environment;

use super::Refusal;

/// Reads an output of resp1 as observations; `name` is where it comes from. The factor is the
/// load; every row is a trial with one figure each for `median_ms`, `average_ms`, `low_ms` and
/// `high_ms`, and `sd_ms` in the first format.
///
/// # Errors
/// When it is not an output of resp1, with the line.
pub fn dataset(name: &str, text: &str) -> Result<Dataset, Refusal> {
    let table = crate::resp1::parse(text).map_err(|error| {
        // That message begins with its line.
        Refusal::whole(error.to_string())
    })?;
    let facts = [
        ("cpus_online", table.cpus.map(|count| count.to_string())),
        ("memory_bytes", table.memory_mb.map(|size_mb| (u128::from(size_mb) << 20).to_string())),
        ("minimum_points", table.minimum_points.map(|count| count.to_string())),
        ("interval_s", table.interval_s.map(|time| time.to_string())),
    ];
    let environment: Environment =
        facts.into_iter().filter_map(|(key, fact)| Some((key.to_owned(), fact?))).collect();
    let mut set = Dataset {
        name: name.to_owned(),
        factors: vec![Factor {
            name: "load".to_owned(),
            levels: table.rows.iter().map(|row| row.test.clone()).collect(),
        }],
        notes: vec![
            "resp1 printed summaries: without the single points there are ratios of medians and \
             averages, but no intervals, no tests and no share of stalls"
                .to_owned(),
        ],
        ..Dataset::default()
    };
    for row in &table.rows {
        let figures = [
            ("median_ms", Some(row.median_ms)),
            ("average_ms", Some(row.average_ms)),
            ("low_ms", Some(row.low_ms)),
            ("high_ms", Some(row.high_ms)),
            ("sd_ms", row.sd_s.map(|sd_s| 1e3 * sd_s)),
        ];
        let values = figures.into_iter().filter_map(|(response, figure)| {
            set.responses.entry(response.to_owned()).or_insert_with(|| Response {
                unit: "ms".to_owned(),
                more_is_better: false,
                additive: false,
            });
            let samples = vec![figure?];
            Some(Values { part: None, response: response.to_owned(), samples, censored: 0 })
        });
        let values = values.collect();
        set.trials.push(Trial {
            name: row.test.clone(),
            levels: BTreeMap::from([("load".to_owned(), row.test.clone())]),
            values,
            environment: environment.clone(),
            ..Trial::default()
        });
    }
    if table.rows.iter().all(|row| row.sd_s.is_none()) {
        set.responses.remove("sd_ms");
    }
    Ok(set)
}
