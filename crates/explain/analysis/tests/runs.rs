//! Run files as observations.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use analysis::comparison::{Request, compare};
use analysis::{Dataset, Standing, from_runs};
use model::{MachineSpec, Run, SubjectSpec, TimeModel, VmSpec};

/// A run of the given measure (the text of its key and value) and lines.
fn run(load: &str, version: u32, measure: &str, environment: &str, lines: &[&str]) -> Run {
    let header = format!(
        r#"{{"kind":"header","schema":1,"run_id":"x","thrashlab":"0.1.0","started_unix_ns":7,"spec":{{"subject":{{"kind":"host","memory_bytes":1024}},"load":{{"name":"{load}","version":{version},"intensity":1.0}},{measure},"timing":{{"profile":"quick","interval_ns":1000000000,"points":3,"warmup_ns":1,"timeout_ns":1}},"seed":5,"block":2,"order":0}},"environment":{{{environment}}},"missed":[]}}"#
    );
    let mut text = header + "\n";
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    Run::parse(text.as_bytes()).unwrap()
}

const PROBE: &str = r#""probe":{"name":"response","version":1}"#;
const JOB: &str = r#""job":{"name":"session","version":1,"script":{"name":"s","version":1,"users":2,"think_ns":1,"limit_ns":9,"commands":[]}}"#;
const COMPLETE: &str = r#"{"kind":"end","at_ns":9,"status":"complete","blake3":"0"}"#;

fn only(run: Run) -> Dataset {
    from_runs("test", &[("r".to_owned(), run)])
}

#[test]
fn delays_are_samples_and_given_up_ones_are_lower_bounds() {
    let lines = [
        r#"{"kind":"sample","at_ns":9,"index":0,"intended_ns":10,"completed_ns":40,"before":{},"after":{}}"#,
        r#"{"kind":"sample","at_ns":9,"index":1,"intended_ns":50,"censored":"timeout","censored_at_ns":150,"before":{},"after":{}}"#,
        r#"{"kind":"delivered","at_ns":9,"unit":"cpu_ns","intended":100,"delivered":40,"elapsed_ns":9}"#,
        r#"{"kind":"warning","at_ns":9,"text":"hot"}"#,
    ];
    let set = only(run("cpuload", 3, PROBE, r#""kernel":"6.1""#, &lines));
    let trial = &set.trials[0];
    let values = &trial.values[0];
    assert_eq!((values.response.as_str(), &values.part), ("delay_ns", &None));
    assert_eq!((values.at_bounds(), values.censored()), (vec![30.0, 100.0], 1));
    assert_eq!((trial.seed, trial.block, trial.started_unix_ns), (Some(5), Some(2), Some(7)));
    assert_eq!(
        trial.remark().as_deref(),
        Some("cut off before its end; the load delivered under 80 % of its volume")
    );
    assert_eq!((trial.standing(), trial.failed()), (Standing::Excluded, None));
    assert_eq!(trial.meaning["load"], "cpuload version 3");
    assert_eq!(trial.meaning["timing"], "quick profile, every 1.00s");
    assert_eq!((&*trial.environment["kernel"], &*trial.environment["subject"]), ("6.1", "host"));
    assert!(!set.deterministic && set.notes == ["cpuload: hot"]);
}

#[test]
fn a_job_gives_its_first_passes_whole_and_by_command() {
    let work = |worker: u32, pass: u32, item: &str, cpu: u64| {
        format!(
            r#"{{"kind":"work","at_ns":9,"worker":{worker},"pass":{pass},"item":"{item}","started_ns":0,"completed_ns":{cpu},"usage":{{"user_ns":{cpu},"system_ns":2,"minor_faults":4,"major_faults":1}}}}"#
        )
    };
    let pass = |worker: u32, pass: u32, cpu: u64| {
        format!(
            r#"{{"kind":"pass","at_ns":9,"worker":{worker},"pass":{pass},"started_ns":1,"completed_ns":11,"usage":{{"user_ns":{cpu},"system_ns":0,"minor_faults":10,"major_faults":2}}}}"#
        )
    };
    let lines = [
        work(0, 0, "cc", 10),
        work(1, 0, "cc", 30),
        work(0, 0, "ls", 1),
        work(0, 1, "cc", 1000),
        pass(0, 0, 50),
        pass(1, 0, 70),
        pass(0, 1, 9000),
        COMPLETE.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let set = only(run("noload", 1, JOB, "", &lines));
    let trial = &set.trials[0];
    let figure =
        |part: Option<&str>, response: &str| trial.samples(part, response).unwrap()[0].value;
    assert_eq!(figure(None, "cpu_ns"), 60.0);
    assert_eq!((figure(None, "faults"), figure(None, "major_faults")), (12.0, 2.0));
    assert_eq!((figure(Some("cc"), "cpu_ns"), figure(Some("cc"), "elapsed_ns")), (22.0, 20.0));
    assert_eq!(figure(Some("ls"), "cpu_ns"), 1.5, "a mean over all workers, so that parts add up");
    assert!(trial.meaning["script"].starts_with("s version 1, blake3 "));
    assert!(set.responses["cpu_ns"].additive && !set.responses["elapsed_ns"].additive);

    // A worker that did not finish leaves no whole.
    let of_second = r#""pass","at_ns":9,"worker":1"#;
    let unfinished: Vec<&str> =
        lines.iter().copied().filter(|line| !line.contains(of_second)).collect();
    let set = only(run("noload", 1, JOB, "", &unfinished));
    assert_eq!(set.trials[0].samples(None, "cpu_ns"), None);
    let problem = set.trials[0].problem.clone().unwrap();
    assert!(problem.contains("1 of 2 workers did not finish"), "{problem}");
}

#[test]
fn what_the_cpu_counted_for_a_command_is_a_response_if_each_repetition_has_it() {
    let job = r#""job":{"name":"command","version":1,"params":{"runs":2},"choices":{"run":"x"}}"#;
    let work = |pass: u32, usage: &str| {
        format!(
            r#"{{"kind":"work","at_ns":9,"worker":0,"pass":{pass},"item":"x","started_ns":0,"completed_ns":5,"ended":{{"exited":{{"code":0}}}},"usage":{{"user_ns":3,"system_ns":2,{usage}}}}}"#
        )
    };
    let lines = [
        work(0, r#""instructions":700,"user_cycles":9,"user_cycles_active_permille":500"#),
        work(1, r#""instructions":701,"user_cycles":8,"branches":4"#),
    ];
    let lines = [lines[0].as_str(), lines[1].as_str(), COMPLETE];
    let set = only(run("noload", 1, job, "", &lines));
    let values = |name: &str| {
        let found = set.trials[0].values.iter().find(|values| values.response == name);
        found.map(|values| values.at_bounds())
    };
    assert_eq!(values("instructions"), Some(vec![700.0, 701.0]));
    assert_eq!((values("user_cycles"), values("branches")), (Some(vec![9.0, 8.0]), None));
}

#[test]
fn noload_is_the_first_level_and_every_run_must_be_deterministic() {
    let yes = r#""vm_deterministic":"yes""#;
    let runs = |loads: &[(&str, &str)]| {
        let runs: Vec<(String, Run)> = loads
            .iter()
            .map(|(load, facts)| ((*load).to_owned(), run(load, 1, PROBE, facts, &[COMPLETE])))
            .collect();
        from_runs("test", &runs)
    };
    let set = runs(&[("cpuload", yes), ("noload", yes)]);
    assert_eq!(set.factors[0].levels, ["noload", "cpuload"]);
    assert!(set.deterministic);
    assert!(!runs(&[("cpuload", yes), ("noload", "")]).deterministic);
    let killed = from_runs("test", &[("k".to_owned(), Run::default())]);
    assert_eq!(killed.notes, ["k: killed before it began, left out"]);
    assert!(!killed.deterministic && killed.trials.is_empty());
}

#[test]
fn a_death_is_a_result_and_its_cause_is_known_from_new_and_old_files() {
    let death = r#"{"kind":"death","at_ns":9,"cause":"BUG: kernel NULL pointer dereference","log":["RIP: f"]}"#;
    let end = r#"{"kind":"end","at_ns":9,"status":"kernel-died","blake3":"0"}"#;
    let warning = r#"{"kind":"warning","at_ns":9,"text":"the guest's kernel died: BUG: kernel NULL pointer dereference"}"#;
    let former = r#"{"kind":"end","at_ns":9,"status":"killed","blake3":"0"}"#;
    for lines in [[death, end], [warning, former]] {
        let mut run = run("largewrite", 1, PROBE, "", &lines);
        run.checksum_ok = Some(true);
        let set = only(run);
        let trial = &set.trials[0];
        assert_eq!((trial.standing(), trial.failed()), (Standing::Failed, Some(true)));
        let remark = "the kernel died: BUG: kernel NULL pointer dereference";
        assert_eq!(trial.remark().as_deref(), Some(remark));
    }
}

#[test]
fn runs_of_different_clocks_are_not_compared() {
    let sample = r#"{"kind":"sample","at_ns":9,"index":0,"intended_ns":10,"completed_ns":40,"before":{},"after":{}}"#;
    let of = |name: &str, time_model, time_machine: Option<&str>| {
        let mut run = run("noload", 1, PROBE, "", &[sample, COMPLETE]);
        let time_machine = time_machine.map(str::to_owned);
        let machine = MachineSpec { time_model, time_machine, ..MachineSpec::default() };
        let kernel = "k".to_owned();
        let (overlay, root, sandbox) = (None, None, None);
        let vm = VmSpec { machine, kernel, overlay, root, sandbox };
        run.header.as_mut().unwrap().spec.subject = SubjectSpec::Vm(Box::new(vm));
        from_runs(name, &[("r".to_owned(), run)])
    };
    let plain = of("plain", TimeModel::Instructions, None);
    let [zen4, tiny] = ["zen4", "tiny"].map(|name| of(name, TimeModel::Memory, Some(name)));
    let compared = |first: &Dataset, second: &Dataset| {
        compare(&[first.clone(), second.clone()], &Request::default())
            .map_err(|refused| refused.to_string())
    };
    let refused = compared(&plain, &zen4).unwrap_err();
    assert!(
        refused.contains(
            "plain and zen4 cannot be compared: the clock under noload is virtual time of \
             instructions in one and virtual time of instructions and translations in the other"
        ),
        "{refused}"
    );
    // Machines with such a clock are systems, which differ by a fact.
    let others = compared(&zen4, &tiny).err().unwrap_or_default();
    assert!(!others.contains("the clock"), "{others}");
    assert_eq!(zen4.trials[0].environment["vm_machine_time_machine"], "zen4");
}
