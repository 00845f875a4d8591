//! Observations as reports of test runs for KCIDB, the database of the Linux kernel's CI systems
//! (<https://github.com/kernelci/kcidb-io>, schema 5.0).
//!
//! A trial has a test for each response and part, because a test has a single number. The tests
//! belong to a build, which another report describes.

use std::collections::BTreeMap;

use analysis::{Dataset, Response, Standing, Trial, Values};
use blake3::Hasher;
use jiff::Timestamp;
use model::EndStatus;
use model::units::{TIME_UNITS, split_time_name};
use serde_json::{Map, Value, json};

/// Where the tree of our tests begins.
const ROOT: &str = "thrashlab";
/// The fact with the kernel's release; a build's architecture is not among the facts.
const KERNEL: &str = "kernel";

/// To what a report belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    origin: String,
    build_id: String,
    checkout_id: Option<String>,
}

impl Build {
    /// `origin` is the name of the CI system that reports, `build_id` the tested build. With
    /// `checkout_id` the build itself is reported as one of this checkout. Fails when a name does
    /// not have the form that the schema requires.
    pub fn new(origin: &str, build_id: &str, checkout_id: Option<&str>) -> Result<Self, String> {
        if !is_origin(origin) {
            return Err(format!(
                "{origin:?} is not the name of a CI system: it has lower-case letters, digits and _"
            ));
        }
        for (what, id) in [("build", Some(build_id)), ("checkout", checkout_id)] {
            let is_id = |id: &str| {
                id.split_once(':').is_some_and(|(of, rest)| is_origin(of) && !rest.contains('\0'))
            };
            if let Some(id) = id.filter(|id| !is_id(id)) {
                return Err(format!(
                    "{id:?} is not the id of a {what}: it is ORIGIN:ID, as in the report of the \
                     CI system that has it"
                ));
            }
        }
        Ok(Self {
            origin: origin.to_owned(),
            build_id: build_id.to_owned(),
            checkout_id: checkout_id.map(str::to_owned),
        })
    }

    /// The build itself.
    fn object(&self) -> Option<Value> {
        let origin = self.build_id.split_once(':')?.0;
        let checkout_id = self.checkout_id.as_ref()?;
        Some(json!({ "checkout_id": checkout_id, "id": self.build_id, "origin": origin }))
    }
}

fn is_origin(text: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    !text.is_empty() && text.chars().all(is_plain)
}

/// The report as JSON; `None` if there is no trial. A trial that failed is a failed test without
/// a number, and one that shows nothing about the system (interrupted, truncated) is `MISS`.
pub fn text(set: &Dataset, build: &Build) -> Option<String> {
    let mut tests: Vec<Value> =
        set.trials.iter().flat_map(|trial| tests(set, trial, build)).collect();
    if tests.is_empty() {
        return None;
    }
    distinguish(&mut tests);
    let mut report = json!({ "version": { "major": 5, "minor": 0 }, "tests": tests });
    if let Some(object) = build.object() {
        report["builds"] = json!([object]);
    }
    Some(format!("{report:#}\n"))
}

/// Numbers the tests that have the id of an earlier one, since they are other measurements.
fn distinguish(tests: &mut [Value]) {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for test in tests {
        let Some(id) = test["id"].as_str().map(str::to_owned) else { continue };
        let count = counts.entry(id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            test["id"] = json!(format!("{id}-{count}"));
        }
    }
}

fn tests(set: &Dataset, trial: &Trial, build: &Build) -> Vec<Value> {
    let status = status(trial);
    if status != "DONE" {
        return vec![test(set, trial, build, status, None)];
    }
    let values = trial.values.iter().filter(|values| !values.samples.is_empty());
    values.map(|values| test(set, trial, build, status, Some(values))).collect()
}

/// Failures of the kernel are those of the tested code; others are of the test.
fn status(trial: &Trial) -> &'static str {
    let ending = trial.ending.as_ref().map(|ending| ending.status);
    match (trial.standing(), ending) {
        (Standing::Counts, _) => "DONE",
        (Standing::Excluded, _) => "MISS",
        (Standing::Failed, Some(EndStatus::KernelDied)) => "FAIL",
        (Standing::Failed, _) => "ERROR",
    }
}

fn test(
    set: &Dataset,
    trial: &Trial,
    build: &Build,
    status: &str,
    values: Option<&Values>,
) -> Value {
    let meaning = values.and_then(|values| set.responses.get(&values.response));
    let path = path(set, trial, values);
    let mut object = Map::new();
    object.insert("build_id".to_owned(), json!(build.build_id));
    object.insert("origin".to_owned(), json!(build.origin));
    let id = format!("{}:{ROOT}-{}", build.origin, identity(trial, build, &path, values));
    object.insert("id".to_owned(), json!(id));
    object.insert("path".to_owned(), json!(path));
    object.insert("status".to_owned(), json!(status));
    let median = values.and_then(Values::exact_median);
    let number = values.zip(median).map(|(values, median)| number(median, values, meaning));
    object.extend(number.map(|number| ("number".to_owned(), number)));
    object.insert("comment".to_owned(), json!(comment(trial, values)));
    object.extend(start(trial).map(|time| ("start_time".to_owned(), json!(time))));
    object.insert("environment".to_owned(), environment(trial));
    object.insert("misc".to_owned(), json!({ ROOT: details(trial, values, meaning, median) }));
    Value::Object(object)
}

/// `thrashlab`, the measure, the levels, the part and the response, as names of a tree.
fn path(set: &Dataset, trial: &Trial, values: Option<&Values>) -> String {
    // The measure's version, after a blank, is in the details.
    let measure = trial.meaning.get("measure").and_then(|it| it.split(' ').next());
    let levels = set.factors.iter().filter_map(|factor| trial.levels.get(&factor.name));
    let part = values.and_then(|values| values.part.as_deref());
    let response = values.map(|values| values.response.as_str());
    let names = [ROOT].into_iter().chain(measure).chain(levels.map(String::as_str));
    let names = names.chain(part).chain(response).map(|name| {
        let plain = |it: char| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' };
        name.chars().map(plain).collect::<String>()
    });
    names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(".")
}

/// What distinguishes a test from all others of the origin: the same for the same results.
fn identity(trial: &Trial, build: &Build, path: &str, values: Option<&Values>) -> String {
    let mut hasher = Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    [&build.build_id, &trial.name, path].into_iter().for_each(&mut add);
    add(&format!("{:?}", (trial.started_unix_ns, trial.block, trial.seed)));
    for fact in trial.levels.iter().chain(&trial.environment) {
        [fact.0, fact.1].into_iter().for_each(|text| add(text));
    }
    if let Some(values) = values {
        [values.part.as_deref().unwrap_or_default(), &values.response]
            .into_iter()
            .for_each(&mut add);
        values.samples.iter().for_each(|sample| add(&sample.value.to_bits().to_string()));
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The median in base units, which KCIDB scales for display.
fn number(median: f64, values: &Values, meaning: Option<&Response>) -> Value {
    let unit = meaning.map_or("", |meaning| meaning.unit.as_str());
    let plain_unit = if unit == "µs" { "us" } else { unit };
    let of_unit = TIME_UNITS.iter().find(|(name, _)| *name == plain_unit).map(|(_, ns)| *ns);
    let of_name = || split_time_name(&values.response).map(|(_, _, ns)| ns);
    let time_ns = of_unit.or_else(|| of_name().filter(|_| unit.is_empty()));
    match (time_ns, unit) {
        (Some(ns), _) => {
            json!({ "value": median * (ns / 1e9), "unit": "s", "prefix": "metric" })
        }
        (None, "bytes") => json!({ "value": median, "unit": "B", "prefix": "binary" }),
        (None, "") => json!({ "value": median }),
        (None, unit) => json!({ "value": median, "unit": plain(unit) }),
    }
}

fn comment(trial: &Trial, values: Option<&Values>) -> String {
    let what = values.map(|values| match values.samples.len() {
        1 => values.response.clone(),
        count => format!("{}: the median of {count} samples", values.response),
    });
    let parts: Vec<String> = what.into_iter().chain(trial.remark()).collect();
    plain(&parts.join("; "))
}

/// The start in RFC 3339.
fn start(trial: &Trial) -> Option<String> {
    let ns = i128::from(trial.started_unix_ns?);
    Some(Timestamp::from_nanosecond(ns).ok()?.to_string())
}

fn environment(trial: &Trial) -> Value {
    let facts: Map<String, Value> =
        trial.environment.iter().map(|(name, fact)| (name.clone(), json!(fact))).collect();
    let mut object = Map::new();
    let kernel = trial.environment.get(KERNEL);
    object.extend(kernel.map(|it| ("comment".to_owned(), json!(plain(&format!("Linux {it}"))))));
    object.insert("misc".to_owned(), Value::Object(facts));
    Value::Object(object)
}

/// What a test's own properties cannot express.
fn details(
    trial: &Trial,
    values: Option<&Values>,
    meaning: Option<&Response>,
    median: Option<f64>,
) -> Value {
    let mut details = json!({ "trial": trial.name, "levels": trial.levels, "what": trial.meaning });
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            details[name] = value;
        }
    };
    put("block", trial.block.map(Value::from));
    put("seed", trial.seed.map(Value::from));
    put("part", values.and_then(|it| it.part.clone()).map(Value::from));
    put("response", values.map(|it| json!(it.response)));
    put("samples", values.map(|it| json!(it.samples.len())));
    put("lower_bounds", values.map(|it| json!(it.censored())).filter(|it| *it != json!(0)));
    put("median", median.map(Value::from));
    put("unit", meaning.filter(|it| !it.unit.is_empty()).map(|it| json!(it.unit)));
    put("more_is_better", meaning.and_then(|it| it.direction.known()).map(|it| json!(it)));
    details
}

/// Text without the character that the schema forbids.
fn plain(text: &str) -> String {
    text.replace('\0', "")
}

#[cfg(test)]
mod tests {
    use analysis::{Ending, Factor};
    use model::Observation;

    use super::*;

    fn set(values: Vec<Observation>) -> Dataset {
        let mut set = Dataset::default();
        let levels = vec!["a b".to_owned()];
        set.factors.push(Factor { name: "load".to_owned(), levels });
        let unit = Response { unit: "us".to_owned(), ..Response::default() };
        set.responses.insert("delay_us".to_owned(), unit);
        set.trials.push(Trial {
            name: "1".to_owned(),
            levels: [("load".to_owned(), "a b".to_owned())].into(),
            values: vec![Values { part: None, response: "delay_us".to_owned(), samples: values }],
            environment: [("kernel".to_owned(), "6.1".to_owned())].into(),
            meaning: [("measure".to_owned(), "wakeup version 2".to_owned())].into(),
            started_unix_ns: Some(1_500_000_000),
            ..Trial::default()
        });
        set
    }

    fn report(set: &Dataset) -> Value {
        let build = Build::new("us", "maestro:b1", Some("maestro:c1")).unwrap();
        let report = text(set, &build).unwrap();
        assert_eq!(text(set, &build).unwrap(), report);
        assert!(!report.contains("null"), "{report}");
        serde_json::from_str(&report).unwrap()
    }

    #[test]
    fn a_test_has_the_median_in_seconds_and_belongs_to_the_build() {
        let report = report(&set([1.0, 3.0, 2.0].map(Observation::exact).to_vec()));
        let test = &report["tests"][0];
        assert_eq!(test["path"], "thrashlab.wakeup.a_b.delay_us");
        assert_eq!(test["status"], "DONE");
        assert_eq!(test["number"]["unit"], "s");
        assert!((test["number"]["value"].as_f64().unwrap() - 2e-6).abs() < 1e-18);
        assert_eq!(test["start_time"], "1970-01-01T00:00:01.5Z");
        assert!(test["id"].as_str().unwrap().starts_with("us:thrashlab-"));
        let build = json!({ "id": "maestro:b1", "checkout_id": "maestro:c1", "origin": "maestro" });
        assert_eq!(report["builds"], json!([build]));
    }

    #[test]
    fn tests_of_different_values_have_different_ids() {
        let id = |value| report(&set(vec![Observation::exact(value)]))["tests"][0]["id"].clone();
        assert_ne!(id(1.0), id(2.0));
    }

    #[test]
    fn equal_trials_are_different_tests() {
        let mut set = set(vec![Observation::exact(1.0)]);
        set.trials.push(set.trials[0].clone());
        let report = report(&set);
        let first = report["tests"][0]["id"].as_str().unwrap();
        assert_eq!(report["tests"][1]["id"], format!("{first}-2"));
    }

    #[test]
    fn a_lower_bound_is_no_number_and_a_death_of_the_kernel_fails() {
        let bound = Observation { value: 5.0, is_lower_bound: true };
        let report_of_bound = report(&set(vec![bound]));
        assert_eq!(report_of_bound["tests"][0].get("number"), None);
        assert_eq!(report_of_bound["tests"][0]["misc"]["thrashlab"]["lower_bounds"], 1);
        let mut dead = set(vec![bound]);
        let ending = |status, is_cut_off| Some(Ending { status, cause: None, is_cut_off });
        for (status, is_cut_off, expected) in [
            (EndStatus::KernelDied, false, "FAIL"),
            (EndStatus::LoadDied, false, "ERROR"),
            (EndStatus::Interrupted, false, "MISS"),
            (EndStatus::Complete, false, "DONE"),
        ] {
            dead.trials[0].ending = ending(status, is_cut_off);
            let report = report(&dead);
            assert_eq!(report["tests"][0]["status"], expected);
            assert_eq!(report["tests"].as_array().unwrap().len(), 1);
        }
        assert_eq!(text(&Dataset::default(), &Build::new("us", "us:1", None).unwrap()), None);
    }

    #[test]
    fn names_that_the_schema_refuses_are_refused() {
        for (origin, build) in [("Us", "us:1"), ("", "us:1"), ("us", "1"), ("us", ":1")] {
            assert!(Build::new(origin, build, None).is_err(), "{origin} {build}");
        }
        assert!(Build::new("us", "us:1", Some("x")).unwrap_err().contains("id of a checkout"));
    }
}
