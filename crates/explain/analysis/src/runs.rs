//! Run files as observations: a run is a trial.

use std::collections::BTreeMap;

use itertools::Itertools;
use model::{
    Accel, BASELINE, COMMAND_COUNTERS, Environment, Header, Line, Measure, Observation, PassRecord,
    Phase, Run, SubjectSpec, TimeModel, WorkEnd, WorkRecord, cpu_ns,
};
use serde_json::Value;

use crate::dataset::LOAD;
use crate::explained::{Explained, explain_run, explain_work};
use crate::memory_job::elapsed_ns;
use crate::remarks::{delays, passes};
use crate::repetitions::{Repetitions, command};
use crate::responsiveness::DELIVERED_AT_LEAST;
use crate::{
    Dataset, Direction, Ending, Factor, MemoryWork, Response, Trial, Values, distinct, joined,
};

/// The responses of a run: name, unit, and whether parts sum to the whole.
const RESPONSES: [(&str, &str, bool); 6] = [
    ("delay_ns", "ns", false),
    ("touch_ns", "ns", false),
    ("cpu_ns", "ns", true),
    ("elapsed_ns", "ns", false),
    ("faults", "faults", true),
    ("major_faults", "faults", true),
];

/// Converts runs with their names to observations; `name` is their source.
///
/// - The factor is the load, `noload` first.
/// - The response of a probe is `delay_ns`; a histogram has three digits.
/// - The responses of a job, for the whole and each command, are means over its workers' first
///   passes: `cpu_ns`, `faults`, `major_faults`, `elapsed_ns`. The whole includes use between the
///   commands; it is absent if a worker did not finish its first pass.
/// - Those of the user's commands have a value for each repetition: `elapsed_ns`, `cpu_ns`, `faults`,
///   `major_faults`, and the figures that they print.
/// - Those of a memory job are for a touch in the steady state: `touch_ns` (elapsed time), `cpu_ns`,
///   `faults`, `major_faults`.
pub fn from_runs(name: &str, runs: &[(String, Run)]) -> Dataset {
    let mut set = Dataset { name: name.to_owned(), ..Dataset::default() };
    for (run_name, run) in runs {
        let Some(header) = &run.header else {
            set.notes.push(format!("{run_name}: killed before it began, left out"));
            continue;
        };
        set.trials.push(trial(run_name, header, run));
        let notes = run.lines.iter().filter_map(Line::note);
        set.notes.extend(notes.map(|note| format!("{}: {note}", header.spec.load.name)));
    }
    set.notes = distinct(set.notes);
    let mut levels = distinct(set.trials.iter().map(|trial| trial.levels[LOAD].clone()));
    levels.sort_by_key(|level| level != BASELINE);
    set.factors.push(Factor { name: LOAD.to_owned(), levels });
    let values = || set.trials.iter().flat_map(|trial| &trial.values);
    let measured = RESPONSES.iter().filter(|(name, ..)| values().any(|it| it.response == *name));
    let response = |(name, unit, additive): &(&str, &str, bool)| {
        let unit = (*unit).to_owned();
        (
            (*name).to_owned(),
            Response { unit, direction: Direction::LessIsBetter, additive: *additive },
        )
    };
    set.responses = measured.map(response).collect();
    let figures: BTreeMap<&str, ()> = values()
        .filter(|it| !RESPONSES.iter().any(|(name, ..)| it.response == *name))
        .map(|it| (it.response.as_str(), ()))
        .collect();
    let figures = figures.into_keys().map(|name| (name.to_owned(), Response::of_figure(name)));
    set.responses.extend(figures.collect_vec());
    set.usual = usual_responses(&set.responses, runs.iter().map(|(_, run)| run));
    let mut headers = runs.iter().filter_map(|(_, run)| run.header.as_ref());
    set.deterministic = !set.trials.is_empty() && headers.all(Header::is_deterministic);
    set
}

/// The responses by which runs of the user's commands are judged: the figures that they print, if
/// they were requested, else elapsed time, with CPU time next to it. Empty for other measures.
fn usual_responses<'a>(
    has: &BTreeMap<String, Response>,
    mut runs: impl Iterator<Item = &'a Run>,
) -> Vec<String> {
    if !runs.any(|run| run.header.as_ref().is_some_and(|header| command(header).is_some())) {
        return Vec::new();
    }
    let is_figure = |name: &&String| !RESPONSES.iter().any(|(known, ..)| known == name);
    let figures: Vec<String> = has.keys().filter(is_figure).cloned().collect();
    match figures.is_empty() {
        true => ["elapsed_ns", "cpu_ns"].map(str::to_owned).to_vec(),
        false => figures,
    }
}

fn trial(name: &str, header: &Header, run: &Run) -> Trial {
    let spec = &header.spec;
    let (values, unfinished) = match spec.measure {
        Measure::Probe(_) => {
            let samples: Vec<Observation> = run.lines.iter().flat_map(delays).collect();
            let response = "delay_ns".to_owned();
            let delays = Values { part: None, response, samples };
            (Some(delays).filter(|it| !it.samples.is_empty()).into_iter().collect(), None)
        }
        Measure::Command(_) => repeated(run),
        Measure::Session(_) => work(run),
        Measure::Memory(_) => {
            MemoryWork::from_run(run).as_ref().map_or_else(|| work(run), of_memory)
        }
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
        explained: explained(run),
        ..of_ending(run, unfinished)
    }
}

/// The parts of the delays of a probe, or of the counted repetitions of the only command.
fn explained(run: &Run) -> Vec<Explained> {
    let header = run.header.as_ref();
    if header.and_then(command).is_none() {
        return explain_run(run).into_iter().map(|(_, explained)| explained).collect();
    }
    match &Repetitions::from_run(run)[..] {
        [(_, only)] => {
            only.counted.iter().filter_map(|work| Some(explain_work(work)?.explained)).collect()
        }
        _ => Vec::new(),
    }
}

/// A trial with the ending and problems of its run, and `more`.
pub(crate) fn of_ending(run: &Run, more: Option<String>) -> Trial {
    Trial {
        ending: Some(Ending::from_run(run)),
        is_altered: run.checksum_ok == Some(false),
        problem: joined(problems(run).into_iter().chain(more)),
        ..Trial::default()
    }
}

/// Facts of the system and of the subject.
fn environment(header: &Header) -> Environment {
    let subject = &header.spec.subject;
    let mut facts = header.environment.clone();
    let mut add = |name: &str, fact: String| {
        facts.entry(name.to_owned()).or_insert(fact);
    };
    add("subject", subject.kind().to_owned());
    add("subject_memory_bytes", subject.memory_bytes().to_string());
    add("thrashlab", header.thrashlab.clone());
    if let Some(job) = header.spec.measure.settings() {
        // They may be varied, so they are not part of the meaning.
        let params = job.params.iter().map(|(name, value)| (name, value.to_string()));
        let choices = job.choices.iter().map(|(name, chosen)| (name, chosen.clone()));
        for (name, value) in params.chain(choices) {
            add(&format!("{}.{name}", job.name), value);
        }
    }
    if let SubjectSpec::Mmu(mmu) = subject {
        add("mmu_machine", mmu.machine.clone());
        add("mmu_description_blake3", hash(&mmu.description));
        for (name, value) in &mmu.settings {
            add(&format!("mmu.{name}"), value.clone());
        }
    }
    if let SubjectSpec::Vm(vm) = subject {
        add("vm_kernel", vm.kernel.clone());
        // Serialising plain structs cannot fail.
        if let Ok(Value::Object(fields)) = serde_json::to_value(&vm.machine) {
            for (name, value) in fields {
                let fact = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                add(&format!("vm_machine_{name}"), fact);
            }
        }
    }
    facts
}

/// The first digits of a text's hash.
fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// What must match to compare runs.
fn meaning(header: &Header) -> BTreeMap<String, String> {
    let spec = &header.spec;
    let every = model::units::format_duration(spec.timing.interval_ns);
    let version = |name: &str, version: u32| format!("{name} version {version}");
    let mut meaning = vec![
        ("load", version(&spec.load.name, spec.load.version)),
        ("intensity", spec.load.intensity.to_string()),
        ("measure", version(spec.measure.name(), spec.measure.version())),
        ("timing", format!("{} profile, every {every}", spec.timing.profile)),
    ];
    if let Measure::Session(session) = &spec.measure {
        let script = &session.script;
        let hash = hash(&serde_json::to_string(script).unwrap_or_default());
        let script = version(&script.name, script.version);
        meaning.push(("script", format!("{script}, blake3 {hash}")));
    }
    if let SubjectSpec::Vm(vm) = &spec.subject
        && vm.machine.accel == Accel::Tcg
    {
        let clock = match vm.machine.time_model {
            TimeModel::Instructions => "virtual time of instructions",
            TimeModel::Memory => "virtual time of instructions and translations",
        };
        meaning.push(("clock", clock.to_owned()));
    }
    meaning.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn problems(run: &Run) -> Vec<String> {
    let mut problems = Vec::new();
    for line in &run.lines {
        match line {
            Line::Phase(record) if record.phase == Phase::NotWarm => {
                problems.push("the load was not warm in time".to_owned());
            }
            Line::Delivered(dose)
                if dose.intended > 0
                    && (dose.delivered as f64 / dose.intended as f64) < DELIVERED_AT_LEAST =>
            {
                // One sentence for all, so that it is printed once.
                let least = 100.0 * DELIVERED_AT_LEAST;
                problems.push(format!("the load delivered under {least:.0} % of its volume"));
            }
            Line::Histogram(record) if record.is_unreadable() => {
                problems.push("a histogram cannot be read".to_owned());
            }
            _ => {}
        }
    }
    problems
}

type Reading = fn(&model::Values) -> Option<u64>;

const READINGS: [(&str, Reading); 3] = [
    ("cpu_ns", |usage| cpu_ns(usage).map(|[user, system]| user.saturating_add(system))),
    ("faults", |usage| match (usage.get("minor_faults"), usage.get("major_faults")) {
        (Some(minor), Some(major)) => Some(minor.saturating_add(*major)),
        // A simulated machine has no others.
        _ => usage.get("translation_faults").copied(),
    }),
    ("major_faults", |usage| usage.get("major_faults").copied()),
];

/// The figures of a job's first passes, and why some are missing.
fn work(run: &Run) -> (Vec<Values>, Option<String>) {
    let items: Vec<&WorkRecord> = run.works().filter(|work| work.pass == 0).collect();
    let passes: Vec<&PassRecord> = passes(run).filter(|pass| pass.pass == 0).collect();
    let of_items = items.iter().map(|item| item.worker);
    let workers = of_items.chain(passes.iter().map(|pass| pass.worker)).unique().count();
    let mut values = of_commands(&items, workers);
    let unfinished = workers - passes.len().min(workers);
    if unfinished == 0 && !passes.is_empty() {
        let used = passes.iter().map(|it| (elapsed_ns(it), &it.usage)).collect_vec();
        values.extend(means(None, &used, workers, false));
    }
    let failed = items.iter().filter(|item| item.failure.is_some()).count();
    let unfinished =
        (unfinished > 0).then(|| format!("{unfinished} of {workers} workers did not finish"));
    let failed = (failed > 0).then(|| format!("{failed} of {} units of work failed", items.len()));
    (values, joined(unfinished.into_iter().chain(failed)))
}

/// The figures of the user's commands, repetition by repetition, and how many failed. One command
/// is the whole of its trial.
fn repeated(run: &Run) -> (Vec<Values>, Option<String>) {
    let all = Repetitions::from_run(run);
    let mut values = Vec::new();
    for (name, own) in &all {
        let part = (all.len() > 1).then(|| (*name).to_owned());
        let mut add = |response: &str, samples: Option<Vec<Observation>>| {
            if let Some(samples) = samples.filter(|samples| !samples.is_empty()) {
                values.push(Values { part: part.clone(), response: response.to_owned(), samples });
            }
        };
        add("elapsed_ns", own.counted.iter().map(|work| work.elapsed_ns()).collect());
        let mut add_usage = |response: &str, reading: &dyn Fn(&model::Values) -> Option<u64>| {
            let read = own.counted.iter().map(|work| {
                let is_lower_bound = work.completed_ns.is_none();
                Some(Observation { value: reading(&work.usage)? as f64, is_lower_bound })
            });
            add(response, read.collect());
        };
        READINGS.iter().for_each(|(response, reading)| add_usage(response, reading));
        for counter in COMMAND_COUNTERS {
            add_usage(counter, &|usage| usage.get(counter).copied());
        }
        let figures = own.counted.iter().flat_map(|work| work.figures.keys()).unique();
        for figure in figures.sorted() {
            let read = own.counted.iter().filter_map(|work| work.figures.get(figure));
            let samples = read.map(|value| Observation { value: *value, is_lower_bound: false });
            add(figure, Some(samples.collect()));
        }
    }
    let failed: usize = all.iter().map(|(_, own)| own.failed.len()).sum();
    let problem = (failed > 0).then(|| format!("{failed} repetitions of a command failed"));
    (values, problem)
}

/// Figures of a memory job, per touch.
fn of_memory(work: &MemoryWork) -> (Vec<Values>, Option<String>) {
    let Some(touch_ns) = work.cost_ns() else {
        return (Vec::new(), Some("nothing was touched".to_owned()));
    };
    let each = READINGS.iter().filter_map(|(name, reading)| {
        Some((*name, reading(&work.usage)? as f64 / work.touches as f64))
    });
    let values = [("touch_ns", touch_ns)].into_iter().chain(each);
    let values = values.map(|(name, value)| Values::exact(None, name, &[value]));
    let cold = "no steady state was reached: its cold start is in the figures";
    (values.collect(), work.steady_from.is_none().then(|| cold.to_owned()))
}

/// Figures of each command, by name.
fn of_commands(items: &[&WorkRecord], workers: usize) -> Vec<Values> {
    let commands = items.iter().copied().into_group_map_by(|item| item.item.as_str());
    let figures = |(name, items): (&str, Vec<&WorkRecord>)| {
        let begun = items.iter().map(|item| item.worker).unique().count();
        if items.iter().any(|item| matches!(item.end(), WorkEnd::NotStarted { .. })) {
            return Vec::new();
        }
        // Workers that never began it would take time too.
        let censored = begun < workers || items.iter().any(|it| it.completed_ns.is_none());
        let used = items.iter().map(|item| {
            let end_ns = item.completed_ns.or(item.censored_at_ns).unwrap_or(item.at_ns);
            (end_ns.saturating_sub(item.started_ns), &item.usage)
        });
        means(Some(name), &used.collect::<Vec<_>>(), workers, censored)
    };
    commands.into_iter().sorted_by_key(|(name, _)| *name).flat_map(figures).collect()
}

/// Time and usage per worker; figures that were not always measured are absent.
fn means(
    part: Option<&str>,
    used: &[(u64, &model::Values)],
    workers: usize,
    is_lower_bound: bool,
) -> Vec<Values> {
    let elapsed_ns: u64 = used.iter().map(|(elapsed_ns, _)| elapsed_ns).sum();
    let read = READINGS.iter().map(|(response, reading)| {
        (*response, used.iter().map(|(_, usage)| reading(usage)).sum::<Option<u64>>())
    });
    let all = [("elapsed_ns", Some(elapsed_ns))].into_iter().chain(read);
    let mean = |(response, sum): (&str, Option<u64>)| {
        let value = sum? as f64 / workers as f64;
        let samples = vec![Observation { value, is_lower_bound }];
        Some(Values { part: part.map(str::to_owned), response: response.to_owned(), samples })
    };
    all.filter_map(mean).collect()
}
