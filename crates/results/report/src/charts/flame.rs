//! Flame graphs: call stacks as nested frames.

use profile::{Counted, FlameFrame};
use render::charts::chart;
use render::{Cell, Chart, Table};
use serde_json::json;

use crate::figures::{count_cell, count_words, noun};

const TEMPLATE: &str = include_str!("../../charts/flame.vl.json");
/// The height of a row, in pixels.
const ROW_PIXELS: u32 = 18;
/// Letters that fit into the whole width.
const LETTERS: f64 = 150.0;
/// A shorter name would not help.
const LEAST_LETTERS: usize = 4;
/// The widest frames, which the table has.
const LISTED: usize = 40;

/// The chart of these frames, of so many counts in all.
pub(crate) fn flame_chart(frames: &[FlameFrame], total: u64, counted: Counted) -> Chart {
    let (name, title, head) = match counted {
        Counted::Instructions => ("flame", "Call stacks by instructions", "instructions"),
        Counted::OnCpuNs => ("on-cpu", "Call stacks by time on a CPU", "time"),
        Counted::WaitsNs => ("waits", "Call stacks by time of waiting", "time"),
    };
    let share = |count: u64| count as f64 / total.max(1) as f64;
    let rows = frames.iter().map(|frame| frame.depth + 1).max().unwrap_or(1);
    let values = frames.iter().map(|frame| {
        let FlameFrame { name, area, depth, start, with_callees, own } = frame;
        let percent = 100.0 * share(*with_callees);
        json!({
            "from": start, "to": start + with_callees,
            "bottom": depth, "top": depth + 1, "middle": f64::from(*depth) + 0.5,
            "area": area.name(), "text": label(name, share(*with_callees)),
            "tip": format!(
                "{name}: {}{} ({percent:.2} %), {} of its own; {}",
                count_words(*with_callees, counted), noun(counted), count_words(*own, counted),
                area.name()
            ),
        })
    });
    let values: Vec<_> = values.collect();
    let parts = json!({
        "values": values, "rows": rows, "total": total.max(1), "height": rows * ROW_PIXELS,
    });
    let mut widest: Vec<&FlameFrame> = frames.iter().collect();
    widest.sort_by_key(|frame| (std::cmp::Reverse(frame.with_callees), frame.depth, frame.start));
    let rows = widest.iter().take(LISTED).map(|frame| {
        [
            Cell::from(&frame.name),
            frame.depth.into(),
            count_cell(frame.with_callees, counted),
            Cell::Share(share(frame.with_callees)),
        ]
    });
    let table = Table::of("", ["function", "depth", head, "share"], rows);
    chart(name, title, TEMPLATE, (&parts, table))
}

/// As much of a name as fits into a part of the width.
fn label(name: &str, share: f64) -> String {
    let letters = (LETTERS * share) as usize;
    match name.chars().count() {
        count if count <= letters => name.to_owned(),
        _ if letters < LEAST_LETTERS => String::new(),
        _ => name.chars().take(letters - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_to_its_frame() {
        assert_eq!(label("shrink_node", 1.0), "shrink_node");
        assert_eq!(label("shrink_node", 0.04), "shrin…");
        assert_eq!(label("shrink_node", 0.02), "");
    }
}
