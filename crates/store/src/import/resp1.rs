//! The rows of a resp1 output as observations.
//!
//! resp1 printed what is left of its delays: low, high, median and average. Where these and the
//! spread determine the points, these are there too ([`recover_points`]); of the other rows there
//! is the median alone, and nothing that needs to know how the points scatter.

use analysis::{Dataset, Trial, Values};

use super::{Format, Looks, Options, Refusal, add, facts, response, varied};
use crate::resp1::{parse, points_notes, recover_points};

/// What this file reads.
pub(super) const FORMAT: Format = Format { name: "resp1", looks_right, read };

/// A damaged output is read, too, to say what is wrong with it.
fn looks_right(looks: &Looks) -> bool {
    let heading = looks.text.lines().next().unwrap_or_default();
    let is_damaged = !heading.contains(',')
        && (heading.starts_with("Starting ") || looks.text.contains("delay ms"));
    looks.json.is_none() && (is_damaged || parse(looks.text).is_ok())
}

/// The factor is the load; every row is a trial with one figure each for `median_ms`,
/// `average_ms`, `low_ms` and `high_ms`, and `sd_ms` in the first format. `delay_ms` has the five
/// delays of a row where they are determined, otherwise the median.
fn read(text: &str, _: &Options) -> Result<Dataset, Refusal> {
    let table = parse(text)?;
    let points = recover_points(&table);
    let environment = facts([
        ("cpus_online", table.cpus.map(|count| count.to_string())),
        ("memory_bytes", table.memory_mb.map(|size_mb| (u128::from(size_mb) << 20).to_string())),
        ("minimum_points", table.minimum_points.map(|count| count.to_string())),
        ("interval_s", table.interval_s.map(|time| time.to_string())),
    ]);
    let mut set = varied(["load"]);
    set.wanted = vec!["delay_ms".to_owned()];
    set.notes = points_notes(&points);
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
        let mut values = Vec::new();
        for (name, samples) in figures {
            let Some(samples) = samples else { continue };
            set.responses.entry(name.to_owned()).or_insert_with(|| response("ms", false));
            values.push(Values::exact(None, name, &samples));
        }
        let (name, environment) = (row.test.clone(), environment.clone());
        let levels = [("load".to_owned(), name.clone())].into();
        add(&mut set, Trial { name, levels, values, environment, ..Trial::default() });
    }
    Ok(set)
}
