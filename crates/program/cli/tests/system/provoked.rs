//! The doctor under the eyes of what is known to be wrong: it names what a load provokes, prices it
//! within a factor of two, and calls nothing else ill; and it finds nothing under healthy loads.
//!
//! What is compared are shares of time of the same minute: what the doctor says was lost, and what
//! the load itself lost against the same work without the condition.

use std::sync::{Mutex, PoisonError};

use model::Line;
use rustix::process::Signal;
use serde_json::Value;

use crate::skip::skip;
use crate::support::{Finished, Fixture, sandbox_works};

/// Small pages that cost less than this share of a reference are not a condition to find.
const LEAST_TAX: f64 = 0.05;
/// How often a price is requested: tests that run at the same time may have disturbed either side
/// of it.
const ATTEMPTS: u32 = 3;
/// One provocation at a time: each would be the other's disturbance.
static ALONE: Mutex<()> = Mutex::new(());

/// What the doctor finds of a sandbox.
struct Found {
    rule: String,
    family: String,
    severity: String,
    share: f64,
    is_bound: bool,
}

impl Found {
    fn is_a_note(&self) -> bool {
        self.severity == "note"
    }
}

/// A load with its rate, and the doctor's findings.
struct Observed {
    found: Vec<Found>,
    diagnosis: Value,
    /// Operations for each ns that it was busy, if it counts them.
    rate: Option<f64>,
}

fn doctor(fixture: &Fixture, arguments: &str) -> Finished {
    let mut command = fixture.thrashlab(&format!("doctor {arguments}"));
    command.env("XDG_CACHE_HOME", fixture.path().join("cache"));
    fixture.finish(command)
}

/// Has costs measured and kept, before a load can disturb that; the share of a reference without
/// locality that small pages cost.
fn measure_costs(fixture: &Fixture) -> Option<f64> {
    let measured = doctor(fixture, "--calibrate --json");
    measured.expect(0, &[]);
    let costs: Value = serde_json::from_str(&measured.stdout).unwrap();
    let ns = |operation: &str| costs["costs"][operation]["ns"].as_f64();
    let (small_ns, huge_ns) = (ns("small_page_reference")?, ns("huge_page_reference")?);
    Some(small_ns / (small_ns + huge_ns))
}

/// Runs a load, and has the doctor watch it when it is warm.
fn observe(
    fixture: &Fixture,
    load: &str,
    subject: &str,
    intensity: u8,
) -> Result<Observed, String> {
    let output = format!("{load}-{intensity}");
    // An earlier attempt may have left it.
    let _ = std::fs::remove_dir_all(fixture.path().join(&output));
    let mut command = fixture.run_on(
        subject,
        &format!(
            "--load {load} --probe wake --interval 1s --points 8 --warmup 30s --output {output}"
        ),
    );
    if load.starts_with("provoke-") {
        command.args(["--intensity", &intensity.to_string()]);
    }
    let number = if load == "noload" { 1 } else { 2 };
    let path = fixture.path().join(format!("{output}/{number:03}-{load}.run.jsonl"));
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    let mut running = fixture.start_as("run", command);
    loop {
        if read().contains("\"phase\":\"warm\"") {
            break;
        }
        if running.ended().is_some() {
            return Err(running.said());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let of_run = format!("/thrashlab-{}-", running.pid());
    let said = doctor(fixture, "--for 2s --json");
    said.expect(0, &[]);
    if running.ended().is_some() {
        return Err("the load was over before the doctor had seen enough of it".to_owned());
    }
    let diagnosis: Value = serde_json::from_str(&said.stdout).unwrap();
    let found = of_sandbox(&diagnosis, &of_run);
    running.signal(Signal::INT);
    running.wait();
    Ok(Observed { found, rate: rate(read().as_bytes()), diagnosis })
}

/// The findings of the sandbox, in their order; others of this machine are of other tests.
fn of_sandbox(diagnosis: &Value, of_run: &str) -> Vec<Found> {
    let is_ours = |scope: &Value| match (&scope["group"], &scope["process"]["name"]) {
        (Value::String(group), _) => group.contains(of_run),
        (_, Value::String(_)) => {
            let groups = format!("/proc/{}/cgroup", scope["process"]["pid"]);
            std::fs::read_to_string(groups).is_ok_and(|text| text.contains(of_run))
        }
        _ => false,
    };
    let findings = diagnosis["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings
        .filter(|found| is_ours(&found["scope"]))
        .map(|found| Found {
            rule: text(&found["rule"]),
            family: text(&found["family"]),
            severity: text(&found["severity"]),
            // A condition without a price is priced at least.
            is_bound: found["is_bound"].as_bool().unwrap_or(true),
            share: found["lost_share"].as_f64().unwrap_or(0.0),
        })
        .collect()
}

fn rate(bytes: &[u8]) -> Option<f64> {
    let run = model::Run::parse(bytes).unwrap();
    let delivered = run.lines.iter().find_map(|line| match line {
        Line::Delivered(delivered) => Some(delivered),
        _ => None,
    });
    let totals = &delivered.expect("an interrupted run tells what was delivered").totals;
    Some(*totals.get("operations")? as f64 / *totals.get("busy_ns")? as f64)
}

/// The load that provokes a rule's condition, with and without it.
fn named_and_priced(test: &str, rule: &str, subject: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !sandbox_works() {
        return skip(test, "this user cannot make sandboxes here");
    }
    let fixture = Fixture::new();
    let tax = measure_costs(&fixture);
    if rule == "translation" && tax.is_none_or(|tax| tax < LEAST_TAX) {
        return skip(test, "small pages cost next to nothing here");
    }
    let load = format!("provoke-{rule}");
    let sick = match observe(&fixture, &load, subject, 1) {
        Ok(sick) => sick,
        Err(why) if why.contains("no sandbox: ") => {
            return skip(test, "the cpu controller cannot be used here");
        }
        Err(why) if why.contains("CPUs at once") => return skip(test, "there is one CPU"),
        Err(why) => panic!("{why}"),
    };
    let unable = sick.diagnosis["unable"].as_array().unwrap().iter();
    if let Some(unable) = unable.into_iter().find(|unable| unable["rule"] == rule) {
        return skip(test, &format!("the doctor cannot decide here: {}", unable["reason"]));
    }
    let mut outcome = priced(&fixture, rule, subject, &sick);
    for _ in 1..ATTEMPTS {
        let Err(before) = outcome else { return };
        let again = observe(&fixture, &load, subject, 1);
        outcome = again
            .and_then(|sick| priced(&fixture, rule, subject, &sick))
            .map_err(|why| format!("{before}\n{why}"));
    }
    outcome.unwrap_or_else(|why| panic!("{ATTEMPTS} times:\n{why}"));
}

/// Whether the condition is named first, and priced within a factor of two unless its price is only
/// a bound, and nothing else is called ill.
fn priced(fixture: &Fixture, rule: &str, subject: &str, sick: &Observed) -> Result<(), String> {
    let healthy = observe(fixture, &format!("provoke-{rule}"), subject, 0)?;
    let measured = 1.0 - sick.rate.unwrap() / healthy.rate.unwrap();
    let said = |what: &str| Err(format!("{what}; measured {measured}: {}", sick.diagnosis));
    let Some(first) = sick.found.first() else { return said("nothing is found") };
    if first.rule != rule {
        return said("another rule comes first");
    }
    // A bound rests on costs of some minutes ago, which on virtual machines are others by now.
    if !first.is_bound && !(measured / 2.0..=2.0 * measured).contains(&first.share) {
        return said("the price is not within a factor of two");
    }
    if sick.found.iter().any(|other| other.family != first.family && !other.is_a_note()) {
        return said("something else is called ill");
    }
    match healthy.found.iter().any(|found| found.rule == rule && !found.is_a_note()) {
        true => Err(format!("it is found without being provoked: {}", healthy.diagnosis)),
        false => Ok(()),
    }
}

fn nothing_ill(observed: &Observed) {
    for found in &observed.found {
        assert!(found.is_a_note(), "{}: {}", found.rule, observed.diagnosis);
    }
}

#[test]
fn a_group_that_reads_its_file_again_and_again_is_named_and_priced() {
    let test = "a_group_that_reads_its_file_again_and_again_is_named_and_priced";
    named_and_priced(test, "memcg-refault", "sandbox:mem=46M");
}

#[test]
fn page_tables_of_a_shared_mapping_are_named_and_priced() {
    let test = "page_tables_of_a_shared_mapping_are_named_and_priced";
    named_and_priced(test, "page-tables", "sandbox:mem=128M");
}

#[test]
fn a_storm_of_shootdowns_is_named_and_priced() {
    let test = "a_storm_of_shootdowns_is_named_and_priced";
    named_and_priced(test, "shootdown", "sandbox:mem=64M");
}

#[test]
fn a_storm_of_forks_is_named_and_priced() {
    named_and_priced("a_storm_of_forks_is_named_and_priced", "fork-storm", "sandbox:mem=256M");
}

#[test]
fn churn_of_minor_faults_is_named_and_priced() {
    let test = "churn_of_minor_faults_is_named_and_priced";
    named_and_priced(test, "minor-faults", "sandbox:mem=64M");
}

#[test]
fn the_tax_of_small_pages_is_named() {
    let test = "the_tax_of_small_pages_is_named";
    named_and_priced(test, "translation", "sandbox:mem=128M");
}

#[test]
fn a_quota_that_is_used_up_is_named_and_priced() {
    let test = "a_quota_that_is_used_up_is_named_and_priced";
    named_and_priced(test, "cpu-denied", "sandbox:mem=64M,cpus=0.5");
}

#[test]
fn nothing_is_wrong_with_healthy_loads() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !sandbox_works() {
        return skip("nothing_is_wrong_with_healthy_loads", "this user cannot make sandboxes here");
    }
    let fixture = Fixture::new();
    measure_costs(&fixture);
    for load in ["noload", "cpuload", "provoke-switches"] {
        let observed = observe(&fixture, load, "sandbox:mem=64M", 1);
        nothing_ill(&observed.unwrap_or_else(|why| panic!("{load}: {why}")));
    }
}
