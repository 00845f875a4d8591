//! Run files as observations: a run is a trial.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    BASELINE, Environment, Header, Line, Measure, Observation, Phase, Run, SubjectSpec, WorkRecord,
};
use serde_json::Value;

use crate::dataset::LOAD;
use crate::explained::explain_run;
use crate::remarks;
use crate::responsiveness::DELIVERED_AT_LEAST;
use crate::{Dataset, Ending, Factor, MemoryWork, Response, Trial, Values};

/// The responses of a run: name, unit, whether its parts add up to the whole.
const RESPONSES: [(&str, &str, bool); 6] = [
    ("delay_ns", "ns", false),
    ("touch_ns", "ns", false),
    ("cpu_ns", "ns", true),
    ("elapsed_ns", "ns", false),
    ("faults", "faults", true),
    ("major_faults", "faults", true),
];

/// Runs, each with its name, as observations; `name` is where they come from.
///
/// - The factor is the load, `noload` first.
/// - A probe gives the delays of its samples as `delay_ns`; those of a histogram are of three
///   digits.
/// - A job gives, for the whole and for each command, the means over its workers' first passes:
///   `cpu_ns` (user and system), `faults` (minor and major), `major_faults`, `elapsed_ns`. The
///   whole is that of the workers, with what they used between the commands, and absent if one
///   of them did not finish its first pass.
/// - A memory job gives what a touch costs once the job is steady: `touch_ns` (time on the wall),
///   `cpu_ns`, `faults`, `major_faults`.
///
/// Runs that were killed before their header was whole are left out, with a note.
#[must_use]
pub fn from_runs(name: &str, runs: &[(String, Run)]) -> Dataset {
    let mut set = Dataset { name: name.to_owned(), ..Dataset::default() };
    let mut levels: Vec<String> = Vec::new();
    for (run_name, run) in runs {
        let Some(header) = &run.header else {
            set.notes.push(format!("{run_name}: killed before it began, left out"));
            continue;
        };
        let load = header.spec.load.name.clone();
        if !levels.contains(&load) {
            levels.push(load);
        }
        set.trials.push(trial(run_name, header, run));
        for line in &run.lines {
            let Some(note) = line.note() else { continue };
            let note = format!("{}: {note}", header.spec.load.name);
            if !set.notes.contains(&note) {
                set.notes.push(note);
            }
        }
    }
    levels.sort_by_key(|level| level != BASELINE);
    set.factors.push(Factor { name: LOAD.to_owned(), levels });
    let measured: BTreeSet<&str> = set
        .trials
        .iter()
        .flat_map(|trial| &trial.values)
        .map(|values| values.response.as_str())
        .collect();
    set.responses = RESPONSES
        .iter()
        .filter(|(name, ..)| measured.contains(name))
        .map(|(name, unit, additive)| {
            let unit = (*unit).to_owned();
            ((*name).to_owned(), Response { unit, more_is_better: false, additive: *additive })
        })
        .collect();
    let mut headers = runs.iter().filter_map(|(_, run)| run.header.as_ref());
    set.deterministic = !set.trials.is_empty() && headers.all(Header::is_deterministic);
    set
}

fn trial(name: &str, header: &Header, run: &Run) -> Trial {
    let spec = &header.spec;
    let (values, unfinished) = match spec.measure {
        Measure::Probe(_) => (delays(run).into_iter().collect(), None),
        Measure::Job(_) => MemoryWork::of(run).map_or_else(|| work(run), |work| of_memory(&work)),
    };
    Trial {
        name: name.to_owned(),
        levels: [(LOAD.to_owned(), spec.load.name.clone())].into(),
        block: Some(u64::from(spec.block)),
        seed: Some(spec.seed),
        started_unix_ns: Some(header.started_unix_ns),
        values,
        environment: environment(header),
        meaning: meaning(header),
        explained: explain_run(run).into_iter().map(|(_, explained)| explained).collect(),
        ..of_ending(run, unfinished)
    }
}

/// What a trial is good for: how its run ended and what casts doubt on it, which may be more.
pub(crate) fn of_ending(run: &Run, more: Option<String>) -> Trial {
    let problems: Vec<String> = problems(run).into_iter().chain(more).collect();
    Trial {
        ending: Some(Ending::of(run)),
        is_altered: run.checksum_ok == Some(false),
        problem: (!problems.is_empty()).then(|| problems.join("; ")),
        ..Trial::default()
    }
}

/// Facts of the system, with those of the subject that stand in the spec.
fn environment(header: &Header) -> Environment {
    let subject = &header.spec.subject;
    let mut facts = header.environment.clone();
    let mut add = |name: &str, fact: String| {
        facts.entry(name.to_owned()).or_insert(fact);
    };
    add("subject", subject.kind().to_owned());
    add("subject_memory_bytes", subject.memory_bytes().to_string());
    add("thrashlab", header.thrashlab.clone());
    if let Measure::Job(job) = &header.spec.measure {
        // They may be what was varied, so they are no part of the meaning.
        for (name, value) in &job.params {
            add(&format!("{}.{name}", job.name), value.to_string());
        }
        for (name, chosen) in &job.choices {
            add(&format!("{}.{name}", job.name), chosen.clone());
        }
    }
    if let SubjectSpec::Mmu(mmu) = subject {
        add("mmu_machine", mmu.machine.clone());
        let hash = blake3::hash(mmu.description.as_bytes()).to_hex();
        add("mmu_description_blake3", hash[..16].to_owned());
        for (name, value) in &mmu.settings {
            add(&format!("mmu.{name}"), value.clone());
        }
    }
    if let SubjectSpec::Vm(vm) = subject {
        add("vm_kernel", vm.kernel.clone());
        // Plain structs cannot fail to serialise.
        if let Ok(Value::Object(fields)) = serde_json::to_value(&vm.machine) {
            for (name, value) in fields {
                let fact = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                add(&format!("vm_machine_{name}"), fact);
            }
        }
    }
    facts
}

/// What must be the same where runs are compared.
fn meaning(header: &Header) -> BTreeMap<String, String> {
    let spec = &header.spec;
    let mut meaning = BTreeMap::from([
        ("load".to_owned(), format!("{} version {}", spec.load.name, spec.load.version)),
        ("intensity".to_owned(), spec.load.intensity.to_string()),
        (
            "measure".to_owned(),
            format!("{} version {}", spec.measure.name(), spec.measure.version()),
        ),
        (
            "timing".to_owned(),
            format!(
                "{} profile, every {}",
                spec.timing.profile,
                model::units::format_duration(spec.timing.interval_ns)
            ),
        ),
    ]);
    if let Measure::Job(job) = &spec.measure
        && let Some(script) = &job.script
    {
        let text = serde_json::to_string(script).unwrap_or_default();
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let script = format!("{} version {}, blake3 {}", script.name, script.version, &hash[..16]);
        meaning.insert("script".to_owned(), script);
    }
    meaning
}

/// What casts doubt on a run's values.
fn problems(run: &Run) -> Vec<String> {
    let mut problems = Vec::new();
    for line in &run.lines {
        match line {
            Line::Phase(record) if record.phase == Phase::NotWarm => {
                problems.push("the load was not warm in time".to_owned());
            }
            Line::Delivered(dose) if dose.intended > 0 => {
                let share = dose.delivered as f64 / dose.intended as f64;
                if share < DELIVERED_AT_LEAST {
                    // The same words for all, so that a reader is told once how many there are.
                    let least = 100.0 * DELIVERED_AT_LEAST;
                    problems.push(format!("the load delivered less than {least:.0} % of its dose"));
                }
            }
            Line::Histogram(record) if record.is_unreadable() => {
                problems.push("a histogram cannot be read".to_owned());
            }
            _ => {}
        }
    }
    problems
}

/// The delays of a probe, in order.
fn delays(run: &Run) -> Option<Values> {
    let samples: Vec<Observation> = run.lines.iter().flat_map(remarks::delays).collect();
    let response = "delay_ns".to_owned();
    (!samples.is_empty()).then_some(Values { part: None, response, samples })
}

/// A figure of one command or pass from what it used.
type Reading = fn(&model::Values) -> Option<u64>;

/// What is read from what was used.
const READINGS: [(&str, Reading); 3] = [
    ("cpu_ns", |usage| Some(usage.get("user_ns")?.saturating_add(*usage.get("system_ns")?))),
    ("faults", |usage| match (usage.get("minor_faults"), usage.get("major_faults")) {
        (Some(minor), Some(major)) => Some(minor.saturating_add(*major)),
        // A simulated machine has no others.
        _ => usage.get("translation_faults").copied(),
    }),
    ("major_faults", |usage| usage.get("major_faults").copied()),
];

/// The figures of a job's first passes, and why they are not all there.
fn work(run: &Run) -> (Vec<Values>, Option<String>) {
    let first = |line: &Line| match line {
        Line::Work(record) => record.pass == 0,
        Line::Pass(record) => record.pass == 0,
        _ => false,
    };
    let (mut items, mut passes): (Vec<&WorkRecord>, Vec<_>) = (Vec::new(), Vec::new());
    for line in run.lines.iter().filter(|line| first(line)) {
        match line {
            Line::Work(record) => items.push(record),
            Line::Pass(record) => passes.push(record),
            _ => {}
        }
    }
    let workers: BTreeSet<u32> =
        items.iter().map(|item| item.worker).chain(passes.iter().map(|pass| pass.worker)).collect();
    let mut values = of_commands(&items, workers.len());
    let unfinished = workers.len() - passes.len().min(workers.len());
    if unfinished == 0 && !passes.is_empty() {
        let elapsed = passes.iter().map(|pass| pass.completed_ns.saturating_sub(pass.started_ns));
        values.extend(mean_of(None, "elapsed_ns", elapsed.map(Some), workers.len(), false));
        for (response, reading) in READINGS {
            let figures = passes.iter().map(|pass| reading(&pass.usage));
            values.extend(mean_of(None, response, figures, workers.len(), false));
        }
    }
    let failed = items.iter().filter(|item| item.failure.is_some()).count();
    let mut problems = Vec::new();
    if unfinished > 0 {
        problems.push(format!("{unfinished} of {} workers did not finish", workers.len()));
    }
    if failed > 0 {
        problems.push(format!("{failed} of {} pieces of work failed", items.len()));
    }
    (values, (!problems.is_empty()).then(|| problems.join("; ")))
}

/// The figures of a memory job, for a touch each.
fn of_memory(work: &MemoryWork) -> (Vec<Values>, Option<String>) {
    let Some(touch_ns) = work.cost_ns() else {
        return (Vec::new(), Some("nothing was touched".to_owned()));
    };
    let used = READINGS.iter().map(|(name, reading)| (*name, reading(&work.usage)));
    let each =
        used.map(|(name, value)| (name, value.map(|used| used as f64 / work.touches as f64)));
    let values = [("touch_ns", Some(touch_ns))].into_iter().chain(each);
    let values = values.filter_map(|(name, value)| Some(Values::exact(None, name, &[value?])));
    let problem = "no steady state was reached: its cold start is in the figures";
    (values.collect(), work.steady_from.is_none().then(|| problem.to_owned()))
}

/// The figures of each command, in the order of their names.
fn of_commands(items: &[&WorkRecord], workers: usize) -> Vec<Values> {
    let names: BTreeSet<&str> = items.iter().map(|item| item.item.as_str()).collect();
    let mut values = Vec::new();
    for name in names {
        let of_name: Vec<&&WorkRecord> = items.iter().filter(|item| item.item == name).collect();
        let begun: BTreeSet<u32> = of_name.iter().map(|item| item.worker).collect();
        // A worker that has not begun it by the end of the run will take its time too.
        let censored =
            begun.len() < workers || of_name.iter().any(|item| item.completed_ns.is_none());
        let elapsed = of_name.iter().map(|item| {
            let end_ns = item.completed_ns.or(item.censored_at_ns).unwrap_or(item.at_ns);
            Some(end_ns.saturating_sub(item.started_ns))
        });
        values.extend(mean_of(Some(name), "elapsed_ns", elapsed, workers, censored));
        for (response, reading) in READINGS {
            let figures = of_name.iter().map(|item| reading(&item.usage));
            values.extend(mean_of(Some(name), response, figures, workers, censored));
        }
    }
    values
}

/// The sum of figures divided by the number of workers; `None` if a figure is missing.
fn mean_of(
    part: Option<&str>,
    response: &str,
    figures: impl Iterator<Item = Option<u64>>,
    workers: usize,
    is_lower_bound: bool,
) -> Option<Values> {
    let value = figures.sum::<Option<u64>>()? as f64 / workers as f64;
    Some(Values {
        part: part.map(str::to_owned),
        response: response.to_owned(),
        samples: vec![Observation { value, is_lower_bound }],
    })
}
