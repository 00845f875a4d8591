//! A run file as an interval: from the first to the last counters under the warm load.

use std::collections::BTreeMap;

use model::{CounterSet, Line, Phase, Run};

use crate::snapshot::page_bytes;
use crate::{Snapshot, TaskSnapshot};

/// Path of the sandbox's control group in the snapshots.
pub const SANDBOX: &str = "sandbox";
/// Process number of the prober in the snapshots.
pub const PROBER: u32 = 1;
/// Number of the load's processes, as one, in the snapshots.
pub const LOAD: u32 = 2;

const GROUP_SOURCES: [&str; 3] = ["memcg", "memcg_psi", "cpu_cgroup"];
const TASK_SOURCES: [&str; 4] = ["task_stat", "sched", "schedstat", "taskstats"];
/// Prefix of sources that are sums over the load's processes.
const LOAD_PREFIX: &str = "load_";
/// Sources that are not kernel counters: the load's and the prober's own.
const OWN_SOURCES: [&str; 2] = ["load", "rusage"];

/// Two snapshots of a run: when its load was warm, and at the last sample or pass. The load's
/// processes are one task, whose sources include their number (`tasks`). Fails if the header is
/// incomplete, or if there are fewer than two sets of counters under the load.
pub fn from_run(run: &Run) -> Result<(Snapshot, Snapshot), String> {
    let header = run.header.as_ref().ok_or("the run was cut off before its header was complete")?;
    let load = header.spec.load.name.as_str();
    let is = |line: &Line, phases: &[Phase]| matches!(line, Line::Phase(record) if phases.contains(&record.phase));
    let warm = run.lines.iter().skip_while(|line| !is(line, &[Phase::Warm, Phase::NotWarm]));
    let warm = warm.take_while(|line| !is(line, &[Phase::Stopped]));
    let moments: Vec<_> = warm.flat_map(Line::readings).collect();
    let [first, .., last] = moments[..] else {
        let count = moments.len();
        return Err(format!(
            "the run has {count} sets of counters under its load; an interval needs two"
        ));
    };
    let is_confined = header.spec.subject.sandbox().is_some();
    let page_bytes = page_bytes(&header.environment);
    let of = |(at_ns, set)| Snapshot { page_bytes, ..snapshot(at_ns, set, load, is_confined) };
    Ok((of(first), of(last)))
}

/// The counters of one time, each under its owner.
fn snapshot(at_ns: u64, set: &CounterSet, load: &str, is_confined: bool) -> Snapshot {
    let mut snapshot = Snapshot { at_ns, ..Snapshot::default() };
    let mut sandbox = CounterSet::new();
    let (mut prober, mut workers) = (CounterSet::new(), CounterSet::new());
    for (source, values) in set {
        let target = match source.as_str() {
            name if OWN_SOURCES.contains(&name) => continue,
            name if GROUP_SOURCES.contains(&name) => &mut sandbox,
            name if TASK_SOURCES.contains(&name) => &mut prober,
            name if name.starts_with(LOAD_PREFIX) => &mut workers,
            _ => &mut snapshot.machine,
        };
        target.insert(source.trim_start_matches(LOAD_PREFIX).into(), values.clone());
    }
    if !sandbox.is_empty() {
        snapshot.groups = BTreeMap::from([(SANDBOX.to_owned(), sandbox)]);
    }
    for (pid, name, counters) in [(PROBER, "probe", prober), (LOAD, load, workers)] {
        if !counters.is_empty() {
            let group = is_confined.then(|| SANDBOX.to_owned());
            snapshot.tasks.insert(pid, TaskSnapshot { name: name.to_owned(), group, counters });
        }
    }
    snapshot
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run file whose counters are these, under a load that is warm at once.
    fn run(counters: &str) -> Run {
        let header = r#"{"kind":"header","schema":1,"run_id":"r","thrashlab":"0","started_unix_ns":1,"spec":{"subject":{"kind":"sandbox","memory_bytes":46},"load":{"name":"cpuload","version":1,"intensity":1.0},"probe":{"name":"response","version":1,"params":{}},"timing":{"profile":"quick","interval_ns":1,"points":2,"warmup_ns":1,"timeout_ns":1},"seed":7,"block":0,"order":0},"environment":{},"missed":[]}"#;
        let cold = r#"{"kind":"counters","at_ns":1,"counters":{"vmstat":{"pgfault":1}}}"#;
        let warm = r#"{"kind":"phase","at_ns":2,"phase":"warm"}"#;
        let stopped = r#"{"kind":"phase","at_ns":90,"phase":"stopped"}"#;
        let after = r#"{"kind":"counters","at_ns":99,"counters":{"vmstat":{"pgfault":99}}}"#;
        Run::parse(format!("{header}\n{cold}\n{warm}\n{counters}{stopped}\n{after}\n").as_bytes())
            .unwrap()
    }

    #[test]
    fn counters_go_where_they_belong() {
        let run = run(concat!(
            r#"{"kind":"counters","at_ns":10,"counters":{"vmstat":{"pgfault":5},"memcg":{"anon":1},"load":{"x":1},"load_task_stat":{"tasks":3},"task_stat":{"minflt":1}}}"#,
            "\n",
            r#"{"kind":"sample","at_ns":40,"index":0,"intended_ns":20,"started_ns":20,"completed_ns":30,"before":{"vmstat":{"pgfault":6}},"after":{"vmstat":{"pgfault":8},"memcg":{"anon":2},"rusage":{"user_ns":1},"load_task_stat":{"tasks":3}}}"#,
            "\n",
        ));
        let (before, after) = from_run(&run).unwrap();
        assert_eq!((before.at_ns, after.at_ns), (10, 40));
        assert_eq!(
            (before.machine["vmstat"]["pgfault"], after.machine["vmstat"]["pgfault"]),
            (5, 8)
        );
        assert_eq!(before.groups[SANDBOX]["memcg"]["anon"], 1);
        assert_eq!(before.tasks[&LOAD].name, "cpuload");
        assert_eq!(before.tasks[&LOAD].counters["task_stat"]["tasks"], 3);
        assert_eq!(before.tasks[&PROBER].group.as_deref(), Some(SANDBOX));
        assert_eq!(after.machine.keys().collect::<Vec<_>>(), ["vmstat"], "no source of our own");
        assert!(!after.tasks.contains_key(&PROBER), "what was not read is absent");
    }

    #[test]
    fn an_interval_needs_two_moments_under_the_load() {
        let one = r#"{"kind":"counters","at_ns":10,"counters":{"psi":{}}}"#.to_owned() + "\n";
        // A start that was due after one that hung never began, and nothing was read for it.
        let never = r#"{"kind":"sample","at_ns":50,"index":1,"intended_ns":40,"censored":"run-ended","censored_at_ns":50,"before":{},"after":{}}"#;
        let refused = |run: &Run| from_run(run).unwrap_err();
        assert!(refused(&run("")).contains("0 sets of counters"));
        assert!(refused(&run(&one)).contains("1 sets of counters"));
        let (_, after) = from_run(&run(&format!("{}{never}\n", one.repeat(2)))).unwrap();
        assert_eq!(after.at_ns, 10);
        assert!(refused(&Run::default()).contains("its header"));
    }
}
