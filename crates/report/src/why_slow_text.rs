//! Why slow responses were slow, as a terminal table and as a list of the worst.

use analysis::explained::Part;
use model::BASELINE;
use model::units::format_duration;

use crate::columns::to_the_right;
use crate::matrix::{Matrix, STALL_FACTOR};
use crate::why_slow::{WhySlow, WorstSample};

/// A part below this share is not shown.
const SHOWN_FROM: f64 = 0.005;

/// The table: a line a load that had slow responses; empty if nothing is known about any.
pub(crate) fn why_slow_table(matrix: &Matrix) -> String {
    let Some(first) = matrix.why_slow.first() else { return String::new() };
    let (slow, mut calm): (Vec<&WhySlow>, Vec<&WhySlow>) =
        matrix.why_slow.iter().partition(|load| load.slow.samples > 0);
    calm.retain(|load| load.load != BASELINE);
    let mut text = String::new();
    if !slow.iter().any(|load| load.has_sources()) {
        if !slow.is_empty() {
            text.push_str("Why slow responses were slow is unknown: the probe has no counters.\n");
        }
        return text;
    }
    text.push_str(&format!(
        "Why slow responses were slow (longer than {}, {STALL_FACTOR:.0} times the noload median): \
         shares of their delay in %\n",
        format_duration(first.limit_ns as u64)
    ));
    text.push_str(&table(&slow));
    let unknown: Vec<&str> = Part::ALL
        .into_iter()
        .filter(|part| slow.iter().all(|load| is_unknown(load, *part)))
        .map(Part::name)
        .collect();
    if !unknown.is_empty() {
        text.push_str(&format!("Unknown here: {}. ", unknown.join(", ")));
    }
    if !calm.is_empty() {
        let names: Vec<&str> = calm.iter().map(|load| load.load.as_str()).collect();
        text.push_str(&format!("None was slow under {}. ", names.join(", ")));
    }
    text.push_str("The worst ones with their counters: --worst N.\n");
    text
}

fn is_unknown(load: &WhySlow, part: Part) -> bool {
    load.slow.parts_ns.get(&part).is_some_and(Option::is_none)
}

fn table(slow: &[&WhySlow]) -> String {
    let shown = |part: &Part| {
        let share = |load: &&WhySlow| load.slow.share(*part).unwrap_or(0.0);
        *part != Part::Remainder && slow.iter().map(share).fold(0.0, f64::max) >= SHOWN_FROM
    };
    let parts: Vec<Part> = Part::ALL.into_iter().filter(shown).collect();
    let width = slow.iter().map(|load| load.load.len()).max().unwrap_or(0);
    let mut head = vec![format!("{:<width$}", "load"), "slow".to_owned(), "explained".to_owned()];
    head.extend(parts.iter().map(|part| part.name().to_owned()));
    let percent = |share: Option<f64>| {
        share.map_or_else(|| "unknown".to_owned(), |share| format!("{:.0}", 100.0 * share))
    };
    let rows = slow.iter().map(|load| {
        let count = format!("{} of {}", load.slow.samples, load.responses);
        let mut row = vec![format!("{:<width$}", load.load), count, percent(load.explained)];
        row.extend(parts.iter().map(|part| percent(load.slow.share(*part))));
        row
    });
    to_the_right(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// The `most` slowest responses under each load, with their parts and counters.
#[must_use]
pub fn worst_text(matrix: &Matrix, most: usize) -> String {
    let mut text = String::new();
    for load in &matrix.why_slow {
        for sample in load.worst.iter().take(most) {
            text.push_str(&worst(&load.load, sample));
        }
    }
    match text.is_empty() {
        true => "No response was slow.\n".to_owned(),
        false => format!("Slowest responses\n{text}"),
    }
}

fn worst(load: &str, sample: &WorstSample) -> String {
    let WorstSample { seed, index, explained, .. } = sample;
    let delay_ns = explained.delay_ns.max(1) as f64;
    let mut known: Vec<(Part, u64)> =
        explained.parts_ns.iter().filter_map(|(part, ns)| Some((*part, (*ns)?))).collect();
    known.retain(|(_, part_ns)| *part_ns as f64 >= SHOWN_FROM * delay_ns);
    known.sort_by_key(|(_, part_ns)| std::cmp::Reverse(*part_ns));
    let parts: Vec<String> = known
        .iter()
        .map(|(part, part_ns)| {
            let share = 100.0 * *part_ns as f64 / delay_ns;
            format!("{} {} ({share:.0} %)", part.name(), format_duration(*part_ns))
        })
        .collect();
    let unknown: Vec<&str> = Part::ALL
        .into_iter()
        .filter(|part| explained.parts_ns.get(part).is_some_and(Option::is_none))
        .map(Part::name)
        .collect();
    let counters: Vec<String> = sample
        .counters
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| format!("{} {count}", name.replace('_', " ")))
        .collect();
    let least = if sample.censored { "more than " } else { "" };
    let delay = format_duration(explained.delay_ns);
    let mut text =
        format!("{load}, seed {seed}, sample {index}: {least}{delay} = {}\n", parts.join(" + "));
    if !unknown.is_empty() {
        text.push_str(&format!("    unknown: {}\n", unknown.join(", ")));
    }
    if !counters.is_empty() {
        text.push_str(&format!("    meanwhile: {}\n", counters.join(", ")));
    }
    text
}
