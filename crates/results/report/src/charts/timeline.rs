//! The critical path of a response over time.

use model::units::format_duration;
use profile::{CriticalPath, Segment};
use render::{Cell, Chart, Table};
use serde_json::json;

use crate::critical_path_table::{does, place};
use render::charts::chart;

const TEMPLATE: &str = include_str!("../../charts/timeline.vl.json");
/// The part of the delay that a bar has at least.
const LEAST_PART: u64 = 1000;
/// The longest segments, which the table has.
const LISTED: usize = 20;

/// The chart of a critical path.
pub(crate) fn timeline_chart(path: &CriticalPath) -> Chart {
    let (start_ns, delay_ns) = (path.response.intended_ns, path.response.delay_ns());
    let is_visible = |segment: &&Segment| segment.length_ns() >= (delay_ns / LEAST_PART).max(1);
    let visible: Vec<&Segment> = path.segments.iter().filter(is_visible).collect();
    let mut order: Vec<&str> = Vec::new();
    for segment in &visible {
        if !order.contains(&segment.task.as_str()) {
            order.push(&segment.task);
        }
    }
    let values = visible.iter().map(|segment| {
        let (task, does, place) = (&segment.task, does(segment.doing), place(segment));
        json!({
            "from": segment.from_ns - start_ns, "to": segment.to_ns - start_ns,
            "task": task, "does": does,
            "tip": format!("{task} {does} for {} {place}", format_duration(segment.length_ns())),
        })
    });
    let values: Vec<_> = values.collect();
    let parts = json!({ "values": values, "order": order, "total": delay_ns.max(1) });
    let mut longest = visible.clone();
    longest.sort_by_key(|segment| std::cmp::Reverse(segment.length_ns()));
    longest.truncate(LISTED);
    longest.sort_by_key(|segment| segment.from_ns);
    let rows = longest.into_iter().map(|segment| {
        [
            Cell::duration((segment.from_ns - start_ns) as f64),
            Cell::from(&segment.task),
            does(segment.doing).into(),
            place(segment).into(),
            Cell::duration(segment.length_ns() as f64),
        ]
    });
    let table = Table::of("", ["from", "task", "does", "where", "time"], rows);
    chart("timeline", "The critical path over time", TEMPLATE, (&parts, table))
}

#[cfg(test)]
mod tests {
    use profile::{Doing, Response};

    use super::*;

    #[test]
    fn bars_begin_at_the_intended_start_and_short_ones_are_omitted() {
        let segment = |from_ns, to_ns, task: &str| Segment {
            from_ns,
            to_ns,
            task: task.to_owned(),
            doing: Doing::Executes,
            whereabouts: Vec::new(),
            ended_by: None,
        };
        let response =
            Response { index: 3, worker: 0, intended_ns: 5_000, end_ns: 25_000, is_complete: true };
        let segments = vec![
            segment(5_000, 6_000, "b (2)"),
            segment(6_000, 6_010, "c (3)"),
            segment(6_010, 25_000, "a (1)"),
        ];
        let chart = timeline_chart(&CriticalPath { response, segments });
        let values = &chart.spec["data"]["values"];
        assert_eq!(values.as_array().map(Vec::len), Some(2));
        assert_eq!((&values[0]["from"], &values[1]["to"]), (&json!(0), &json!(20_000)));
        assert_eq!(chart.spec["encoding"]["y"]["sort"], json!(["b (2)", "a (1)"]));
        assert_eq!(chart.table.rows.len(), 2);
    }
}
