//! The forest plot of a session: the time of each command under each load, to that without.

use model::BASELINE;
use stats::{RatioInterval, bounded_run_ratio};

use super::commands::{Invocations, invocations};
use super::forest::{Line, body, table, values};
use super::strips::panel;
use super::{Data, Kind};
use crate::comparison::usable;
use render::Chart;

pub(super) const KIND: Kind = Kind {
    name: "command-ratios",
    section: "work",
    title: "Commands: times the time without load",
    make,
};

/// Most lines that are drawn; the others are in the table.
const MOST: usize = 60;
/// Chance that any of the intervals misses its ratio.
const ERROR: f64 = 0.05;

const VERDICTS: [(&str, &str); 3] =
    [("slower", "#d55e00"), ("faster", "#2f8fcf"), ("cannot tell", "#999999")];

fn make(data: &Data<'_>) -> Vec<Chart> {
    let all = invocations(data);
    let pairs: Vec<(&Invocations<'_>, &Invocations<'_>)> = all
        .iter()
        .filter(|one| one.load != BASELINE)
        .filter_map(|one| {
            let quiet = all.iter().find(|it| it.panel == one.panel && it.load == BASELINE)?;
            Some((quiet, one))
        })
        .collect();
    // Bonferroni: all of them hold together.
    let confidence = 1.0 - ERROR / pairs.len().max(1) as f64;
    let found = pairs.iter().filter_map(|(quiet, one)| {
        let [quiet_ns, loaded_ns] = [quiet, one]
            .map(|it| it.times_ns().into_iter().map(|time| vec![time]).collect::<Vec<_>>());
        let (ratio, _) = bounded_run_ratio(&quiet_ns, &loaded_ns, confidence)?;
        Some(line(one, &ratio))
    });
    let lines: Vec<Line> = found.collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let drawn = &lines[..lines.len().min(MOST)];
    let reading = format!(
        "Hodges–Lehmann ratio of the times from start to end under each load to those without, all \
         invocations; the intervals describe these runs and hold together for all {}, the dashed \
         line is no difference.",
        lines.len()
    );
    let values = values(drawn);
    vec![KIND.chart(reading, values, body(drawn, &VERDICTS, None), table(&lines))]
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
