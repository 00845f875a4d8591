//! Runs of jobs with known work: a session of two users, and work on memory pass by pass.

use std::fmt::Write as _;

use model::Run;

/// The header of a run of a job; `job` is the rest of its object.
fn header(id: &str, load: &str, seed: u64, job: &str) -> String {
    let mut text = format!(
        r#"{{"kind":"header","schema":1,"run_id":"{id}","thrashlab":"0.1.0","started_unix_ns":0,"spec":{{"subject":{{"kind":"host","memory_bytes":536870912}},"load":{{"name":"{load}","version":1,"intensity":1.0}},"job":{{{job}}},"timing":{{"profile":"default","interval_ns":1,"points":4,"warmup_ns":1,"timeout_ns":1}},"seed":{seed},"block":0,"order":0}},"environment":{{}},"missed":[]}}"#
    );
    text.push('\n');
    text
}

/// A session under a load: each user edits and compiles in each of three passes, and the last
/// compilation is given up if `is_stuck`.
pub(crate) fn session(load: &str, factor: u64, is_stuck: bool) -> Run {
    let command = |name: &str| format!(r#"{{"name":"{name}","run":["true"]}}"#);
    let script = format!(
        r#""name":"session","version":1,"script":{{"name":"small","version":2,"users":2,"think_ns":1,"limit_ns":9,"tools":"system","commands":[{},{}]}}"#,
        command("edit"),
        command("compile")
    );
    let mut text = header(&format!("run-{load}"), load, 7, &script);
    for (pass, worker) in (0..3).flat_map(|pass| [(pass, 0), (pass, 1)]) {
        for (item, time_ms) in [("edit", 20 + pass * 3), ("compile", 400 - pass * 40 + worker)] {
            let is_last = is_stuck && (pass, worker, item) == (2, 1, "compile");
            let end = if is_last { "censored_at_ns" } else { "completed_ns" };
            let end_ns = 5_000_000 + time_ms * factor * 1_000_000;
            let _ = writeln!(
                text,
                r#"{{"kind":"work","at_ns":{end_ns},"worker":{worker},"pass":{pass},"item":"{item}","started_ns":5000000,"{end}":{end_ns},"usage":{{"user_ns":1000000}}}}"#
            );
        }
    }
    Run::parse(text.as_bytes()).expect("a run file")
}

/// Nine repetitions of a command of the user, of which the last fails.
pub(crate) fn command(load: &str, factor: u64) -> Run {
    let mut text = header(&format!("run-{load}"), load, 1, r#""name":"command","version":1"#);
    for pass in 0..9 {
        let started_ns = pass * 1_000_000_000;
        let end_ns = started_ns + 100_000_000 * factor + pass % 2;
        let failure = if pass == 8 { r#","failure":"exit code 1""# } else { "" };
        let _ = writeln!(
            text,
            r#"{{"kind":"work","at_ns":{end_ns},"worker":0,"pass":{pass},"item":"./bench","started_ns":{started_ns},"completed_ns":{end_ns},"usage":{{"user_ns":1000000}}{failure}}}"#
        );
    }
    Run::parse(text.as_bytes()).expect("a run file")
}

/// Work on memory under a load with these costs of a touch in ns, a pass each.
pub(crate) fn memory(load: &str, seed: u64, costs_ns: &[u64]) -> Run {
    let job = r#""name":"vmtest","version":1,"params":{"size":16777216,"process_size":2097152}"#;
    let mut text = header(&format!("run-{load}-{seed}"), load, seed, job);
    for (pass, cost_ns) in costs_ns.iter().enumerate() {
        let _ = writeln!(
            text,
            r#"{{"kind":"pass","at_ns":0,"worker":0,"pass":{pass},"started_ns":0,"completed_ns":{},"usage":{{"touches":1000}}}}"#,
            cost_ns * 1000
        );
    }
    Run::parse(text.as_bytes()).expect("a run file")
}
