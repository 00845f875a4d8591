//! Rows of a resp1 output as observations. resp1 printed summaries. Where these determine the
//! single delays, they are recovered ([`recover_points`]); other rows have the median only.

use analysis::Direction::LessIsBetter;
use model::Observation;

use crate::dataset::{Imported, Looks, Options, facts, measure};
use crate::measurement::{ForeignMeasurement, ForeignTrial};
use crate::resp1::{has_heading, parse, points_notes, recover_points};
use crate::results::ForeignResults;

const DELAY: &str = "delay_ms";

/// Matches damaged outputs too, to report the damage.
pub(crate) fn looks_right(looks: &Looks) -> bool {
    looks.json.is_none() && (has_heading(looks.text) || parse(looks.text).is_ok())
}

/// Every row is a trial of its load, with `median_ms`, `average_ms`, `low_ms`, `high_ms`, and
/// `sd_ms` in the first format. `delay_ms` has the recovered delays, else the median.
pub(crate) fn read(text: &str, options: &Options) -> Imported {
    let table = parse(text)?;
    let points = recover_points(&table);
    let environment = facts([
        ("cpus_online", table.cpus.map(|count| count.to_string())),
        ("memory_bytes", table.memory_mb.map(|size_mb| (u128::from(size_mb) << 20).to_string())),
        ("minimum_points", table.minimum_points.map(|count| count.to_string())),
        ("interval_s", table.interval_s.map(|time| time.to_string())),
    ]);
    let mut found = ForeignResults::named_by(["load"]);
    found.wanted = vec![DELAY.to_owned()];
    found.notes = points_notes(&points);
    for (row, points) in table.rows.iter().zip(&points) {
        let figures = [
            ("median_ms", Some(row.median_ms)),
            ("average_ms", Some(row.average_ms)),
            ("low_ms", Some(row.low_ms)),
            ("high_ms", Some(row.high_ms)),
            ("sd_ms", row.sd_s.map(|sd_s| 1e3 * sd_s)),
        ];
        let delays_ms = points.samples_ms(row).unwrap_or_else(|| vec![row.median_ms]);
        let delays = delays_ms.into_iter().map(Observation::exact).collect();
        let delays = ForeignMeasurement::values(DELAY, "ms", LessIsBetter, delays);
        let figures = figures.into_iter().filter_map(|(name, figure)| {
            Some(ForeignMeasurement::figure(name, "ms", LessIsBetter, figure?))
        });
        let figures = [delays].into_iter().chain(figures).collect();
        let load = [("load", row.test.clone())];
        let mut trial = ForeignTrial::of_file(row.test.clone(), load, figures);
        trial.environment = environment.clone();
        trial.meaning = measure("resp1");
        found.trials.push(trial);
    }
    found.finish(options)
}
