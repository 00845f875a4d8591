//! Why slow responses were slow: a table by load, and the slowest responses.

use std::collections::BTreeMap;

use analysis::explained::Part;
use analysis::responsiveness::{Matrix, STALL_FACTOR, WhySlow, WorstSample};
use model::BASELINE;
use model::units::format_duration;
use render::{Block, Cell, Table, format};

/// Smaller parts are not shown.
const SHOWN_FROM: f64 = 0.005;

/// A table with a row per load that had slow responses, and a note; nothing if there were none.
pub(crate) fn why_slow_blocks(matrix: &Matrix) -> Vec<Block> {
    let (slow, mut calm): (Vec<&WhySlow>, Vec<&WhySlow>) =
        matrix.why_slow.iter().partition(|load| load.slow.samples > 0);
    calm.retain(|load| load.load != BASELINE);
    let Some(first) = slow.first() else { return Vec::new() };
    if !slow.iter().any(|load| load.has_sources()) {
        let text = "Why slow responses were slow is unknown: the probe has no counters.";
        return vec![Block::Sentence(text.to_owned())];
    }
    let unknown =
        unknown(|part| slow.iter().all(|load| load.slow.parts_ns.get(part) == Some(&None)));
    let calm: Vec<&str> = calm.iter().map(|load| load.load.as_str()).collect();
    let notes = [("Unknown here: ", unknown), ("None was slow under ", calm.join(", "))];
    let notes = notes.into_iter().filter(|(_, names)| !names.is_empty());
    let note: String = notes.map(|(what, names)| format!("{what}{names}. ")).collect();
    let note = note + "The worst ones with their counters: --worst N.";
    vec![Block::Table(table(&slow, first.limit_ns)), Block::Sentence(note)]
}

fn table(slow: &[&WhySlow], limit_ns: f64) -> Table {
    let shown = |part: &Part| {
        let share = |load: &&WhySlow| load.slow.share(*part).unwrap_or(0.0);
        *part != Part::Remainder && slow.iter().map(share).fold(0.0, f64::max) >= SHOWN_FROM
    };
    let parts: Vec<Part> = Part::ALL.iter().copied().filter(shown).collect();
    let caption = format!(
        "Why slow responses were slow (longer than {}, {STALL_FACTOR:.0} times the noload \
         median): shares of their delay",
        format::duration(limit_ns)
    );
    let head =
        ["load", "slow", "explained"].into_iter().chain(parts.iter().map(|part| part.title()));
    let share =
        |it: Option<f64>| it.map_or_else(|| Cell::Absent("unknown".to_owned()), Cell::Share);
    let rows = slow.iter().map(|load| {
        let count = format!("{} of {}", load.slow.samples, load.responses);
        let first = [Cell::from(&load.load), Cell::figure(count), share(load.explained)];
        first.into_iter().chain(parts.iter().map(|part| share(load.slow.share(*part))))
    });
    Table::of(caption, head, rows)
}

fn unknown(is_unknown: impl Fn(&Part) -> bool) -> String {
    let unknown = Part::ALL.iter().copied().filter(is_unknown).map(Part::title);
    unknown.collect::<Vec<_>>().join(", ")
}

/// A slow response with its parts, the unknown ones, and the counters meanwhile.
pub(crate) fn worst_item(load: &str, sample: &WorstSample) -> String {
    let WorstSample { run_id, seed, index, explained, .. } = sample;
    let delay_ns = explained.delay_ns.max(1) as f64;
    let least = if sample.censored { "more than " } else { "" };
    let mut text = format!(
        "{load} (run {run_id}, seed {seed}, sample {index}): {least}{} = {}",
        format_duration(explained.delay_ns),
        parts(&explained.parts_ns, delay_ns).join(" + ")
    );
    let unknown = unknown(|part| explained.parts_ns.get(part) == Some(&None));
    if !unknown.is_empty() {
        text += &format!("; unknown: {unknown}");
    }
    let counters = sample.counters.iter().filter(|(_, count)| **count > 0);
    let counters: Vec<String> =
        counters.map(|(name, count)| format!("{} {count}", name.replace('_', " "))).collect();
    if !counters.is_empty() {
        text += &format!("; meanwhile: {}", counters.join(", "));
    }
    text
}

fn parts(parts_ns: &BTreeMap<Part, Option<u64>>, delay_ns: f64) -> Vec<String> {
    let mut known: Vec<(Part, u64)> =
        parts_ns.iter().filter_map(|(part, ns)| Some((*part, (*ns)?))).collect();
    known.retain(|(_, part_ns)| *part_ns as f64 >= SHOWN_FROM * delay_ns);
    known.sort_by_key(|(_, part_ns)| std::cmp::Reverse(*part_ns));
    let text = |(part, part_ns): &(Part, u64)| {
        let share = 100.0 * *part_ns as f64 / delay_ns;
        format!("{} {} ({share:.0} %)", part.title(), format_duration(*part_ns))
    };
    known.iter().map(text).collect()
}
