//! The schedule of a run as trace events of Chromium ("Trace Event Format"), which Perfetto draws
//! (<https://ui.perfetto.dev>): of a guest a row for each virtual CPU, each task, and the responses; of a
//! program on this machine a row for each thread.

use serde::Serialize;

use crate::call_stacks::CallStacks;
use crate::part::Part;
use crate::profile::Profile;
use crate::sampled::SampledProfile;
use crate::tasks::State;

/// The groups of rows.
const CPUS: u32 = 1;
const TASKS: u32 = 2;
const RESPONSES: u32 = 3;

#[derive(Serialize)]
struct TraceEvent {
    name: String,
    /// `X`: with a duration; `M`: the name of a row or group.
    ph: char,
    /// In µs.
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: u32,
    tid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Arguments>,
}

#[derive(Serialize)]
struct Arguments {
    /// Name of a row or group.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// In which functions a task waits, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stack: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    display_time_unit: &'static str,
    trace_events: Vec<TraceEvent>,
}

/// What lasts from one time of the run to another, in ns.
fn lasting(
    name: String,
    [from_ns, to_ns]: [u64; 2],
    (pid, tid): (u32, u64),
    stack: Vec<String>,
) -> TraceEvent {
    let [ts, end] = [from_ns, to_ns].map(|at_ns| at_ns as f64 / 1e3);
    let args = (!stack.is_empty()).then_some(Arguments { name: None, stack });
    TraceEvent { name, ph: 'X', ts, dur: Some(end - ts), pid, tid, args }
}

fn named(kind: &str, pid: u32, tid: u64, name: String) -> TraceEvent {
    let args = Some(Arguments { name: Some(name), stack: Vec::new() });
    TraceEvent { name: kind.to_owned(), ph: 'M', ts: 0.0, dur: None, pid, tid, args }
}

/// What a wait from a call stack on is called, and in which functions it is.
fn waits(stacks: &impl CallStacks, node: Option<u32>) -> (String, Vec<String>) {
    let stack = node.map(|node| stacks.waits_in(node)).unwrap_or_default();
    (stack.first().cloned().unwrap_or_else(|| "waits".to_owned()), stack)
}

/// What each virtual CPU and each task did from the start to the end of a run, as JSON. Fails as
/// serializing does.
pub fn schedule(profile: &Profile) -> serde_json::Result<Vec<u8>> {
    let mut events = Vec::new();
    let groups = [(CPUS, "virtual CPUs"), (TASKS, "tasks"), (RESPONSES, "responses")];
    events.extend(groups.map(|(pid, name)| named("process_name", pid, 0, name.to_owned())));
    let end_ns = profile.virtual_ns(profile.responses.end_ns);
    let begin_ns = profile.virtual_ns(0);
    for (row, (task, spans)) in (1..).zip(profile.tasks().all()) {
        events.push(named("thread_name", TASKS, row, profile.task_name(task, end_ns)));
        for span in spans {
            let (from_ns, to_ns) = (span.from_ns.max(begin_ns), span.to_ns.min(end_ns));
            if from_ns >= to_ns {
                continue;
            }
            let times_ns = [from_ns, to_ns].map(|at_ns| profile.run_ns(at_ns));
            let (what, stack) = match span.state {
                State::Executes { cpu, .. } => {
                    let name = profile.task_name(task, span.to_ns);
                    events.push(lasting(name, times_ns, (CPUS, u64::from(cpu)), Vec::new()));
                    ("executes".to_owned(), Vec::new())
                }
                State::Ready { .. } => ("waits for CPU".to_owned(), Vec::new()),
                State::Waits { node, .. } => waits(profile, node),
            };
            events.push(lasting(what, times_ns, (TASKS, row), stack));
        }
    }
    for response in &profile.responses.all {
        let name = format!("response {}", response.index);
        let times_ns = [response.intended_ns, response.end_ns];
        // They may overlap, so each has a row.
        events.push(lasting(name, times_ns, (RESPONSES, u64::from(response.index)), Vec::new()));
    }
    serde_json::to_vec(&Trace { display_time_unit: "ns", trace_events: events })
}

/// What each thread of a program on this machine did from its start to its end, as JSON; `observed` names
/// the program. Fails as serializing does.
pub fn sampled_schedule(profile: &SampledProfile, observed: &str) -> serde_json::Result<Vec<u8>> {
    let mut events = vec![named("process_name", TASKS, 0, observed.to_owned())];
    for thread in &profile.threads {
        let row = u64::from(thread.tid);
        events.push(named("thread_name", TASKS, row, format!("{} ({row})", thread.name)));
        for span in &thread.spans {
            let (what, stack) = match span.part {
                Part::OnCpu => ("executes".to_owned(), Vec::new()),
                Part::WaitsForCpu => ("waits for CPU".to_owned(), Vec::new()),
                Part::Waits | Part::Faults => waits(profile, span.node),
            };
            events.push(lasting(what, [span.from_ns, span.to_ns], (TASKS, row), stack));
        }
    }
    serde_json::to_vec(&Trace { display_time_unit: "ns", trace_events: events })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::critical_path::tests::profile;

    #[test]
    fn each_task_has_its_row_without_gaps() {
        let json: Value = serde_json::from_slice(&schedule(&profile()).unwrap()).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        let of = |pid: u32| events.iter().filter(move |it| it["pid"] == pid && it["ph"] == "X");
        let reader = events.iter().find(|it| it["args"]["name"] == "reader (7)").unwrap();
        let spans = of(TASKS).filter(|it| it["tid"] == reader["tid"]);
        let spans: Vec<(f64, f64, &str)> = spans
            .map(|it| {
                let number = |name: &str| it[name].as_f64().unwrap();
                (number("ts"), number("dur"), it["name"].as_str().unwrap())
            })
            .collect();
        let names: Vec<&str> = spans.iter().map(|(.., name)| *name).collect();
        assert_eq!(names, ["executes", "vfs_read", "waits for CPU", "executes", "vfs_read"]);
        for pair in spans.windows(2) {
            assert!((pair[0].0 + pair[0].1 - pair[1].0).abs() < 1e-9, "{spans:?}");
        }
        let executed: f64 = of(CPUS).map(|it| it["dur"].as_f64().unwrap()).sum();
        assert!((executed - 0.5).abs() < 1e-9, "the CPU is never without a task: {executed}");
        assert_eq!(of(RESPONSES).count(), 1);
    }
}
