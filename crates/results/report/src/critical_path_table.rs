//! The critical path of a response as a table: who had to do what before it was complete.

use std::collections::BTreeMap;

use model::units::format_duration;
use profile::{CriticalPath, Doing, Segment};
use render::{Cell, Table};

/// The most rows; the rest is one row.
const MOST_ROWS: usize = 12;
/// The widest text in the column of places.
const MOST_CHARACTERS: usize = 34;

/// Its segments by task and place, the longest first. They sum to the delay.
pub(crate) fn critical_path_table(path: &CriticalPath) -> Table {
    let delay_ns = path.response.delay_ns();
    let mut sums: BTreeMap<(String, &str, String), u64> = BTreeMap::new();
    for segment in &path.segments {
        let key = (segment.task.clone(), does(segment.doing), place(segment));
        *sums.entry(key).or_default() += segment.length_ns();
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, time_ns)| std::cmp::Reverse(*time_ns));
    let caption = format!(
        "Critical path of response {}: its delay of {}",
        path.response.index,
        format_duration(delay_ns)
    );
    let mut table = Table::new(caption, ["task", "does", "where", "time", "share"]);
    let share = |time_ns: u64| Cell::Share(time_ns as f64 / delay_ns.max(1) as f64);
    for ((task, does, place), time_ns) in rows.iter().take(MOST_ROWS) {
        table.row([
            task.into(),
            (*does).into(),
            place.into(),
            Cell::duration(*time_ns as f64),
            share(*time_ns),
        ]);
    }
    let rest = rows.iter().skip(MOST_ROWS);
    let (count, time_ns) =
        rest.fold((0, 0), |(count, sum), (_, time_ns)| (count + 1, sum + time_ns));
    if count > 0 {
        let name = format!("{count} others");
        table.row([
            name.into(),
            "".into(),
            "".into(),
            Cell::duration(time_ns as f64),
            share(time_ns),
        ]);
    }
    table
}

/// What a task does, in words.
pub(crate) fn does(doing: Doing) -> &'static str {
    match doing {
        Doing::Executes => "executes",
        Doing::WaitsForCpu => "waits for CPU",
        Doing::Waits => "waits",
    }
}

/// The first function or task, and what ended the waiting, as far as there is room.
pub(crate) fn place(segment: &Segment) -> String {
    let first = segment.whereabouts.first().cloned().unwrap_or_default();
    let first = match segment.doing {
        Doing::WaitsForCpu if !first.is_empty() => format!("taken by {first}"),
        _ => first,
    };
    match &segment.ended_by {
        Some(ended_by) if first.len() + ended_by.len() + 3 <= MOST_CHARACTERS => {
            format!("{first} / {ended_by}")
        }
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use profile::Response;
    use render::{Document, plain_text};

    use super::*;

    #[test]
    fn a_table_sums_to_the_delay() {
        let segment = |from_ns, to_ns, task: &str, doing, place: &str| Segment {
            from_ns,
            to_ns,
            task: task.to_owned(),
            doing,
            whereabouts: vec![place.to_owned()],
            ended_by: (doing == Doing::Waits).then(|| "scsi_done".to_owned()),
        };
        let ms = 1_000_000;
        let segments = vec![
            segment(0, ms, "probe (7)", Doing::Executes, ""),
            segment(ms, 6 * ms, "kswapd0 (30)", Doing::Waits, "rq_qos_wait"),
            segment(6 * ms, 7 * ms, "kswapd0 (30)", Doing::WaitsForCpu, "swapper/0"),
            segment(7 * ms, 10 * ms, "kswapd0 (30)", Doing::Waits, "rq_qos_wait"),
        ];
        let response =
            Response { index: 3, worker: 0, intended_ns: 0, end_ns: 10 * ms, is_complete: true };
        let mut document = Document::default();
        document.push(critical_path_table(&CriticalPath { response, segments }));
        let text = plain_text(&document);
        let rows: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert!(rows[0].contains("response 3: its delay of 10.0ms"), "{text}");
        assert!(
            text.contains("kswapd0 (30)  waits          rq_qos_wait / scsi_done  8.00ms"),
            "{text}"
        );
        assert!(text.contains("taken by swapper/0"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
