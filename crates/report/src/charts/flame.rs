//! Flame graphs: call stacks as nested frames.

use profile::FlameFrame;
use render::{Cell, Chart, Table, format};
use serde_json::json;

use render::charts::chart;

const TEMPLATE: &str = include_str!("../../charts/flame.vl.json");
/// The height of a row, in pixels.
const ROW_PIXELS: u32 = 18;
/// Letters that fit into the whole width.
const LETTERS: f64 = 150.0;
/// A shorter name would not help.
const LEAST_LETTERS: usize = 4;
/// The widest frames, which the table has.
const LISTED: usize = 40;

/// The chart of these frames, of so many instructions in all.
pub(crate) fn flame_chart(frames: &[FlameFrame], total: u64) -> Chart {
    let share = |count: u64| count as f64 / total.max(1) as f64;
    let rows = frames.iter().map(|frame| frame.depth + 1).max().unwrap_or(1);
    let values = frames.iter().map(|frame| {
        let FlameFrame { name, area, depth, start, instructions, own } = frame;
        let percent = 100.0 * share(*instructions);
        json!({
            "from": start, "to": start + instructions,
            "bottom": depth, "top": depth + 1, "middle": f64::from(*depth) + 0.5,
            "area": area.name(), "text": label(name, share(*instructions)),
            "tip": format!(
                "{name}: {} instructions ({percent:.2} %), {} of its own; {}",
                format::grouped(*instructions), format::grouped(*own), area.name()
            ),
        })
    });
    let values: Vec<_> = values.collect();
    let parts = json!({
        "values": values, "rows": rows, "total": total.max(1), "height": rows * ROW_PIXELS,
    });
    let mut widest: Vec<&FlameFrame> = frames.iter().collect();
    widest.sort_by_key(|frame| (std::cmp::Reverse(frame.instructions), frame.depth, frame.start));
    let rows = widest.iter().take(LISTED).map(|frame| {
        [
            Cell::from(&frame.name),
            frame.depth.into(),
            Cell::grouped(frame.instructions),
            Cell::Share(share(frame.instructions)),
        ]
    });
    let table = Table::of("", ["function", "depth", "instructions", "share"], rows);
    chart("flame", "Call stacks by instructions", TEMPLATE, (&parts, table))
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
