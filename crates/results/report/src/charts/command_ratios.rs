//! The forest plot of a session: the time of each command under each load relative to no load.

use model::BASELINE;
use serde_json::{Value, json};
use stats::{RatioInterval, bounded_run_ratio};

use super::Data;
use super::commands::{Invocations, invocations};
use super::forest::{Line, MOST, filling};
use super::strips::panel;
use crate::comparison::usable;
use render::Table;

/// Probability that any of the intervals misses its ratio.
const ERROR: f64 = 0.05;

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let all = invocations(data);
    let pairs = all.iter().filter(|one| one.load != BASELINE).filter_map(|one| {
        Some((all.iter().find(|it| it.panel == one.panel && it.load == BASELINE)?, one))
    });
    let pairs: Vec<(&Invocations<'_>, &Invocations<'_>)> = pairs.collect();
    // Bonferroni: all intervals hold together.
    let confidence = 1.0 - ERROR / pairs.len().max(1) as f64;
    let found = pairs.iter().filter_map(|(quiet, one)| {
        let [quiet_ns, loaded_ns] = [quiet, one]
            .map(|it| it.times_ns().into_iter().map(|time| vec![time]).collect::<Vec<_>>());
        let (ratio, _) = bounded_run_ratio(&quiet_ns, &loaded_ns, confidence)?;
        Some(line(one, &ratio))
    });
    let lines: Vec<Line> = found.collect();
    filling(&lines, MOST, json!({ "count": lines.len() }))
}

fn line(one: &Invocations<'_>, found: &RatioInterval) -> Line {
    let verdict = match (found.low > 1.0, found.high < 1.0) {
        (true, _) => "slower",
        (_, true) => "faster",
        _ => "cannot tell",
    };
    Line {
        label: panel(&one.panel, one.load),
        verdict,
        ratio: (found.ratio, usable(found.low, found.high)),
        more: format!(" (interval of {:.1} %)", 100.0 * found.confidence_attained),
    }
}
