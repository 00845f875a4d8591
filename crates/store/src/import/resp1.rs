//! Rows of a resp1 output as observations. resp1 printed summaries. Where these determine the
//! single delays, they are recovered ([`recover_points`]); other rows have the median only.

use analysis::Values;

use super::{Imported, Looks, Options, add, facts, response, varied};
use crate::resp1::{parse, points_notes, recover_points};

const DELAY: &str = "delay_ms";

/// Matches damaged outputs too, to report the damage.
pub(super) fn looks_right(looks: &Looks) -> bool {
    let heading = looks.text.lines().next().unwrap_or_default();
    let is_damaged = !heading.contains(',')
        && (heading.starts_with("Starting ") || looks.text.contains("delay ms"));
    looks.json.is_none() && (is_damaged || parse(looks.text).is_ok())
}

/// Every row is a trial of its load, with `median_ms`, `average_ms`, `low_ms`, `high_ms`, and
/// `sd_ms` in the first format. `delay_ms` has the recovered delays, else the median.
pub(super) fn read(text: &str, _: &Options) -> Imported {
    let table = parse(text)?;
    let points = recover_points(&table);
    let environment = facts([
        ("cpus_online", table.cpus.map(|count| count.to_string())),
        ("memory_bytes", table.memory_mb.map(|size_mb| (u128::from(size_mb) << 20).to_string())),
        ("minimum_points", table.minimum_points.map(|count| count.to_string())),
        ("interval_s", table.interval_s.map(|time| time.to_string())),
    ]);
    let mut set = varied(["load"]);
    set.wanted = vec![DELAY.to_owned()];
    set.notes = points_notes(&points);
    for (row, points) in table.rows.iter().zip(&points) {
        let figures = [
            ("median_ms", Some(row.median_ms)),
            ("average_ms", Some(row.average_ms)),
            ("low_ms", Some(row.low_ms)),
            ("high_ms", Some(row.high_ms)),
            ("sd_ms", row.sd_s.map(|sd_s| 1e3 * sd_s)),
        ];
        let figures = figures
            .into_iter()
            .filter_map(|(name, figure)| Some((name.to_owned(), response("ms", false), figure?)));
        let trial = add(&mut set, row.test.clone(), [("load", row.test.clone())], figures);
        let delays_ms = points.samples_ms(row).unwrap_or_else(|| vec![row.median_ms]);
        trial.values.insert(0, Values::exact(None, DELAY, &delays_ms));
        trial.environment = environment.clone();
    }
    set.responses.insert(DELAY.to_owned(), response("ms", false));
    Ok(set)
}
