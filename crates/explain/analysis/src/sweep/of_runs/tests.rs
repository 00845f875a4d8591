//! Runs as points.

use model::RunEncoder;
use serde_json::{Value, json};

use model::EndStatus;

use super::*;

const MS_NS: u64 = 1_000_000;

fn header(measure: (&str, Value)) -> Value {
    let mut spec = json!({
        "subject": {"kind": "host", "memory_bytes": 1 << 30},
        "load": {"name": "noload", "version": 1, "intensity": 1.0},
        "timing": {"profile": "quick", "interval_ns": 1, "points": 1, "warmup_ns": 1,
            "timeout_ns": 1},
        "seed": 1, "block": 0, "order": 0,
    });
    spec[measure.0] = measure.1;
    json!({"kind": "header", "schema": 1, "run_id": "r", "thrashlab": "0.1.0",
        "started_unix_ns": 0, "spec": spec, "environment": {}, "missed": []})
}

fn run(lines: &[Value], status: EndStatus) -> Run {
    let mut encoder = RunEncoder::default();
    let mut text = String::new();
    for line in lines {
        text += &encoder.line(&Line::parse(&line.to_string()).unwrap());
    }
    text += &encoder.end(1_000 * MS_NS, status);
    Run::parse(text.as_bytes()).unwrap()
}

/// A run of Irlam's program whose passes take these times for 1,000 touches each.
fn work(times_ms: &[u64]) -> Vec<Value> {
    let counters = |at_ms: u64, count: u64| {
        json!({"kind": "counters", "at_ns": at_ms * MS_NS, "counters": {
            "vmstat": {"pgmajfault": 10 * count, "nr_free_pages": 500 - count, "pswpin": count},
            "meminfo": {"PageTables_kb": 64 + count},
            "psi": {"memory_some_us": 7 * count},
        }})
    };
    let job = ("job", json!({"name": "vmtest", "version": 1, "params": {"size": 4096}}));
    let mut lines = vec![header(job), counters(0, 0)];
    let mut now_ms = 1;
    for (pass, time_ms) in times_ms.iter().enumerate() {
        let end_ms = now_ms + time_ms;
        lines.push(json!({"kind": "pass", "at_ns": end_ms * MS_NS, "worker": 0, "pass": pass,
            "started_ns": now_ms * MS_NS, "completed_ns": end_ms * MS_NS,
            "usage": {"touches": 1000, "user_ns": MS_NS, "system_ns": 500, "minor_faults": 3,
                "major_faults": 1, "processes": 8, "loops": 9}}));
        lines.push(counters(end_ms, pass as u64 + 1));
        now_ms = end_ms;
    }
    lines
}

#[test]
fn the_steady_part_of_work_on_memory_counts_alone() {
    let made = of_run(&run(&work(&[90, 5, 5, 5, 5, 5]), EndStatus::Complete), None);
    let OfRun { point, response, unit } = &made;
    assert_eq!((response.as_str(), unit.as_str()), ("touch_ns", "ns"));
    assert_eq!(point.cost, Some(5_000.0), "ns for each touch");
    assert_eq!(point.problem, None);
    let figure = |name: &str| point.figures.get(name).copied();
    assert_eq!(figure("work"), Some(5_000.0));
    assert_eq!(figure("elapsed_ns"), Some(25e6));
    assert_eq!(figure("faults"), Some(20.0));
    assert_eq!(figure("page_table_bytes"), Some(70.0 * 1024.0));
    assert_eq!(figure("loops"), None);
    let counters: Vec<(&str, f64)> =
        point.counters.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(
        counters,
        [("psi.memory_some_us", 35.0), ("vmstat.pgmajfault", 50.0), ("vmstat.pswpin", 5.0)],
        "of the steady part, and no sizes"
    );
    assert_eq!(figure("swap_ins"), Some(5.0));
}

#[test]
fn another_figure_for_each_touch_can_stand_for_the_cost() {
    let steady = run(&work(&[5, 5, 5]), EndStatus::Complete);
    let made = of_run(&steady, Some("faults"));
    assert_eq!((made.point.cost, made.unit.as_str()), (Some(0.004), ""));
    let made = of_run(&steady, Some("colour"));
    assert_eq!(made.point.cost, None);
    assert!(made.point.problem.unwrap().contains("choose from elapsed_ns, faults"));
}

#[test]
fn work_without_a_steady_state_says_so_and_a_stopped_run_has_no_cost() {
    let growing = work(&[1, 2, 4, 8, 16, 32, 64]);
    let made = of_run(&run(&growing, EndStatus::Complete), None).point;
    assert_eq!(made.cost, Some(127e6 / 7_000.0));
    assert!(made.problem.unwrap().contains("no steady state"));
    let stopped = of_run(&run(&growing, EndStatus::Interrupted), None).point;
    assert_eq!(stopped.cost, None);
    assert!(stopped.problem.unwrap().contains("interrupted"));
    let none = of_run(&run(&work(&[]), EndStatus::Complete), None).point;
    assert_eq!((none.cost, none.problem.as_deref()), (None, Some("nothing was measured")));
}

#[test]
fn a_probe_counts_with_its_median_and_a_session_with_the_mean_of_its_users() {
    let mut lines = vec![header(("probe", json!({"name": "response", "version": 1})))];
    for (index, delay_ns) in [5, 900, 7].into_iter().enumerate() {
        lines.push(json!({"kind": "sample", "at_ns": 1, "index": index, "intended_ns": 100,
            "completed_ns": 100 + delay_ns,
            "before": {"stat": {"ctxt": 10 * index, "procs_running": 1}},
            "after": {"stat": {"ctxt": 10 * index + 5, "procs_running": 9}}}));
    }
    let made = of_run(&run(&lines, EndStatus::Complete), None);
    assert_eq!((made.point.cost, made.response.as_str()), (Some(7.0), "delay_ns"));
    assert_eq!(made.point.counters, BTreeMap::from([("stat.ctxt".to_owned(), 25.0)]));

    let script = json!({"name": "s", "version": 1, "users": 2, "think_ns": 1, "limit_ns": 1,
        "tools": "builtin", "variables": {}, "commands": []});
    let job = json!({"name": "session", "version": 1, "script": script});
    let mut lines = vec![header(("job", job))];
    for (worker, elapsed_ns) in [(0, 100), (1, 300)] {
        lines.push(json!({"kind": "pass", "at_ns": 1, "worker": worker, "pass": 0,
            "started_ns": 0, "completed_ns": elapsed_ns, "usage": {"user_ns": 8}}));
    }
    let made = of_run(&run(&lines, EndStatus::Complete), None);
    assert_eq!((made.point.cost, made.unit.as_str()), (Some(200.0), "ns"));
}
