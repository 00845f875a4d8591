//! The rows of a resp1 output as observations.
//!
//! resp1 printed what is left of its delays: low, high, median and average. Where these and the
//! spread determine the points, these are there too ([`recover_points`]); of the other rows there
//! is the median alone, and nothing that needs to know how the points scatter.

use std::collections::BTreeMap;

use analysis::{Dataset, Factor, Response, Trial, Values};
use model::Environment;

use super::Refusal;
use crate::resp1::{points_notes, recover_points};

/// Reads an output of resp1 as observations; `name` is where it comes from. The factor is the
/// load; every row is a trial with one figure each for `median_ms`, `average_ms`, `low_ms` and
/// `high_ms`, and `sd_ms` in the first format. `delay_ms` has the five delays of a row where they
/// are determined, otherwise the median.
///
/// # Errors
/// When it is not an output of resp1, with the line.
pub fn dataset(name: &str, text: &str) -> Result<Dataset, Refusal> {
    let table = crate::resp1::parse(text).map_err(|error| {
        // That message begins with its line.
        Refusal::whole(error.to_string())
    })?;
    let points = recover_points(&table);
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
        wanted: vec!["delay_ms".to_owned()],
        notes: points_notes(&points),
        ..Dataset::default()
    };
    for (row, points) in table.rows.iter().zip(&points) {
        let one = |figure: f64| Some(vec![figure]);
        let figures = [
            ("delay_ms", points.samples_ms(row).or_else(|| one(row.median_ms))),
            ("median_ms", one(row.median_ms)),
            ("average_ms", one(row.average_ms)),
            ("low_ms", one(row.low_ms)),
            ("high_ms", one(row.high_ms)),
            ("sd_ms", row.sd_s.and_then(|sd_s| one(1e3 * sd_s))),
        ];
        let values = figures.into_iter().filter_map(|(response, samples)| {
            set.responses.entry(response.to_owned()).or_insert_with(|| Response {
                unit: "ms".to_owned(),
                more_is_better: false,
                additive: false,
            });
            Some(Values::exact(None, response, &samples?))
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
