//! Profiles of commands on this machine as documents.

use model::units::format_duration;
use profile::{
    CallStacks, Counted, Counts, FunctionCounts, Origin, Part, SampledProfile, TaskTime, Wait,
};
use render::{Block, Cell, Document, Section, Table, Tone, Verdict, format};
use serde::Serialize;
use stats::clopper_pearson;

use crate::charts::flame_chart;
use crate::figures::{in_percent, most_of, share};

/// The probability with which an interval has a function's true share.
const CONFIDENCE: f64 = 0.95;
/// The part of all time that a frame of a flame graph has at least.
const LEAST_PART: u64 = 1000;
/// From this part on, what is not known is printed.
const NOTED: f64 = 0.01;
/// From this part of the elapsed time on a CPU on, the function that has most of it is named.
const BUSY: f64 = 0.1;
/// From so many records a second on, two for each time that a thread leaves its CPU, recording them costs
/// 3 % of the time or more (docs/profile.md).
const NOTED_RECORDS_HZ: u64 = 20_000;
const NS_PER_S: u64 = 1_000_000_000;
const MOST_TASKS: usize = 5;
/// Rows of the result on one screen.
const BRIEF_FUNCTIONS: usize = 8;
const BRIEF_WAITS: usize = 3;
/// Letters of a function's name in a table; the last ones say most.
const MOST_LETTERS: usize = 44;
/// Functions and waits with less than this share are left out of the tables.
const LEAST_SHARE: f64 = 0.005;

/// A profile of a command or a process as it is shown.
pub struct SampledView<'a> {
    /// The command as it was typed, or the process.
    pub observed: &'a str,
    /// How it ended, if not with success.
    pub failure: Option<&'a str>,
    /// Samples a second of CPU time.
    pub frequency_hz: u64,
    /// The profile.
    pub profile: &'a SampledProfile,
    /// Most functions and waits in a table.
    pub most_functions: usize,
}

#[derive(Serialize)]
struct SampledData {
    observed: String,
    failure: Option<String>,
    elapsed_ns: u64,
    on_cpu_ns: u64,
    waits_ns: u64,
    waits_for_cpu_ns: u64,
    frequency_hz: u64,
    samples: u64,
    truncated: u64,
    records: u64,
    lost: Option<u64>,
    missed: Vec<String>,
    tasks: Vec<TaskTime>,
    functions: Vec<FunctionShare>,
    waits: Vec<Wait>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<OriginShare>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault_count: Option<u64>,
}

/// A function's time on a CPU.
#[derive(Clone, Serialize)]
struct FunctionShare {
    #[serde(flatten)]
    counts: FunctionCounts,
    share: f64,
    /// The interval of 95 % of the share of its own, from the samples (Clopper and Pearson).
    interval: Option<(f64, f64)>,
}

/// The code that a part of a profile comes from, with its share of the part.
#[derive(Clone, Debug, Serialize)]
pub struct OriginShare {
    /// The function and its caller.
    #[serde(flatten)]
    pub origin: Origin,
    /// The share of the part.
    pub share: f64,
    /// The interval of 95 % of the share (Clopper and Pearson, with the effective number of samples);
    /// `None` of waits, which are exact.
    pub interval: Option<(f64, f64)>,
}

/// The code that a part of a profile comes from, the largest share first.
pub fn origin_shares(profile: &SampledProfile, part: Part) -> Vec<OriginShare> {
    let (all, origins) = (profile.counts(part).total, profile.origins(part));
    let samples = match part {
        Part::Waits | Part::WaitsForCpu => None,
        Part::Faults => Some(profile.fault_samples),
        Part::OnCpu => Some(origins.iter().map(|origin| origin.seen).sum()),
    };
    let of = |origin: Origin| {
        let share = share(origin.amount, all);
        let interval = samples.and_then(|samples| {
            let seen = (share * samples as f64).round() as u64;
            clopper_pearson(seen, samples, CONFIDENCE).map(|it| (it.low, it.high))
        });
        OriginShare { origin, share, interval }
    };
    origins.into_iter().map(of).collect()
}

/// Where a command spends its time on a CPU, and what it waits for.
pub fn sampled_document(view: &SampledView<'_>) -> Document<'static> {
    let profile = view.profile;
    let [on_cpu, waits, ..] = Part::ALL.map(|part| profile.counts(part));
    let functions = functions(profile, on_cpu);
    let (reasons, faulting) = (profile.waits(), origin_shares(profile, Part::Faults));
    let sentences = sentences(view, &functions, &reasons);
    let shown = |[most_functions, most_waits]: [usize; 2]| {
        let verdict = |text: &String| Verdict { text: text.clone(), tone: Tone::Plain };
        let mut document = Document {
            title: format!("Profile of {}", view.observed),
            verdicts: sentences.iter().map(verdict).collect(),
            ..Document::default()
        };
        if on_cpu.total > 0 || faulting.is_empty() {
            document.push(function_table(&functions, on_cpu.total, most_functions));
        }
        if waits.total > 0 {
            document.push(wait_table(&reasons, waits.total, most_waits));
        }
        if !faulting.is_empty() {
            document.push(fault_table(&faulting, profile.faults, most_waits));
        }
        document.blocks.extend(notes(view).into_iter().map(Block::Sentence));
        document
    };
    let most = view.most_functions;
    let mut document = shown([most, most])
        .with_facts([("samples", samples(view, &functions))])
        .with_brief(shown([most.min(BRIEF_FUNCTIONS), most.min(BRIEF_WAITS)]));
    if profile.tasks.len() > 1 {
        document.push(task_table(&profile.tasks));
    }
    for (counts, counted) in [(on_cpu, Counted::OnCpuNs), (waits, Counted::WaitsNs)] {
        let frames = profile::flame(profile, counts, counts.total / LEAST_PART);
        let chart = flame_chart(&frames, counts.total, counted);
        let (name, title) = (chart.name.clone(), chart.title.clone());
        let chart = Block::Chart(Box::new(chart));
        document.sections.push(Section::new(&name, &title, vec![chart]));
    }
    document.with_data(SampledData {
        observed: view.observed.to_owned(),
        failure: view.failure.map(str::to_owned),
        elapsed_ns: profile.elapsed_ns,
        on_cpu_ns: on_cpu.total,
        waits_ns: waits.total,
        waits_for_cpu_ns: profile.counts(Part::WaitsForCpu).total,
        frequency_hz: view.frequency_hz,
        samples: profile.samples,
        truncated: profile.truncated,
        records: profile.records,
        lost: profile.lost,
        missed: profile.missed.clone(),
        tasks: profile.tasks.clone(),
        functions,
        waits: reasons,
        faults: faulting,
        fault_count: profile.faults,
    })
}

fn functions(profile: &SampledProfile, counts: &Counts) -> Vec<FunctionShare> {
    let functions = profile.functions(counts);
    let samples: u64 = functions.iter().map(|it| it.entries).sum();
    let of = |counts_of: FunctionCounts| {
        let whole = share(counts_of.own, counts.total);
        let sampled = clopper_pearson(counts_of.entries, samples, CONFIDENCE);
        // Threads differ a little in how much time a sample of them stands for.
        let interval = sampled.filter(|it| it.proportion > 0.0).map(|it| {
            let scale = whole / it.proportion;
            (it.low * scale, (it.high * scale).min(1.0))
        });
        FunctionShare { counts: counts_of, share: whole, interval }
    };
    functions.into_iter().map(of).collect()
}

/// How many records were lost, if so many that nothing may be concluded.
pub fn lost_records(profile: &SampledProfile) -> Option<String> {
    let (lost, records) = (profile.lost.unwrap_or(0), profile.records);
    let [lost, records] = [lost, records].map(format::grouped);
    profile.is_incomplete().then(|| format!("{lost} of {records} records were lost"))
}

/// What a profile shows, a sentence each without a full stop: the time on a CPU, that of waiting, and page
/// faults that read from a device, each with the code that most of it comes from.
pub fn sampled_summary(profile: &SampledProfile) -> Vec<String> {
    if let Some(lost) = lost_records(profile) {
        return vec![format!("{lost}: nothing is concluded")];
    }
    let functions = functions(profile, profile.counts(Part::OnCpu));
    let mut all = time_sentences(profile, &functions, &profile.waits());
    if let Some(faults) = profile.faults {
        let shares = origin_shares(profile, Part::Faults);
        let first = shares.iter().find(|it| it.origin.is_known()).map(|it| {
            let interval =
                it.interval.map_or_else(String::new, |it| format!(" {}", in_percent(it)));
            let by = it.origin.caller.as_ref().map_or_else(String::new, |by| format!(", by {by}"));
            format!(", {}{interval} of them {}{by}", format::share(it.share), it.origin.function)
        });
        let pages = if faults == 1 { "page" } else { "pages" };
        let (faults, first) = (format::grouped(faults), first.unwrap_or_default());
        all.push(format!("{faults} {pages} read from a device{first}"));
    }
    all
}

fn sentences(view: &SampledView<'_>, functions: &[FunctionShare], waits: &[Wait]) -> Vec<String> {
    let profile = view.profile;
    if let Some(lost) = lost_records(profile) {
        return vec![format!("{lost}: nothing is concluded; repeat it with a lower --rate")];
    }
    let on_cpu = profile.counts(Part::OnCpu).total;
    if let Some(faults) = profile.faults.filter(|_| on_cpu == 0) {
        let elapsed = format_duration(profile.elapsed_ns);
        return vec![format!("{} page faults in {elapsed}", format::grouped(faults))];
    }
    let mut all = time_sentences(profile, functions, waits);
    all.extend(view.failure.map(|failure| format!("the command {failure}")));
    all
}

/// The time on a CPU, and that of waiting, also for a CPU.
fn time_sentences(
    profile: &SampledProfile,
    functions: &[FunctionShare],
    waits: &[Wait],
) -> Vec<String> {
    let [on_cpu, waiting, for_cpu, _] = Part::ALL.map(|part| profile.counts(part).total);
    let elapsed = format_duration(profile.elapsed_ns);
    let is_named = |it: &&FunctionShare| it.counts.own > 0 && it.interval.is_some();
    let first = functions.iter().find(is_named).map(|function| {
        let interval =
            function.interval.map_or_else(String::new, |it| format!(" {}", in_percent(it)));
        format!(", {}{interval} of it in {}", format::share(function.share), function.counts.name)
    });
    // Where it hardly executes, what it waits for matters. Idle threads may wait for many times the time
    // that passes.
    let is_busy = waiting <= on_cpu || share(on_cpu, profile.elapsed_ns) > BUSY;
    let first = first.filter(|_| is_busy).unwrap_or_default();
    let mut all = vec![format!("{} on a CPU in {elapsed}{first}", format_duration(on_cpu))];
    if let Some(wait) = waits.first() {
        let part = format::share(share(wait.ns, waiting));
        let reason = match &*wait.function {
            function if function.starts_with('[') => String::new(),
            function if function == wait.caller => format!(", {part} of it in {function}"),
            function => format!(", {part} of it in {function}, for {}", wait.caller),
        };
        all.push(format!("{} of waiting{reason}", format_duration(waiting)));
    }
    if share(for_cpu, on_cpu) > NOTED {
        let time = format_duration(for_cpu);
        all.push(format!("{time} of waiting for a CPU, which other threads had"));
    }
    all
}

fn samples(view: &SampledView<'_>, functions: &[FunctionShare]) -> String {
    let samples: u64 = functions.iter().map(|it| it.counts.entries).sum();
    if view.frequency_hz == 0 {
        return format!("{} of page faults", format::grouped(view.profile.samples));
    }
    format!("{} of what executes, {} a second", format::grouped(samples), view.frequency_hz)
}

/// What the profile does not know.
fn notes(view: &SampledView<'_>) -> Vec<String> {
    let profile = view.profile;
    let on_cpu = profile.counts(Part::OnCpu).total;
    let unsampled: u64 = profile.tasks.iter().map(|task| task.unsampled_ns).sum();
    let mut notes = Vec::new();
    if share(unsampled, on_cpu) > NOTED {
        notes.push(format!(
            "No sample is of {} of the time on a CPU: that of threads that live too shortly, and \
             of what may not be seen.",
            format::share(share(unsampled, on_cpu))
        ));
    }
    if share(profile.truncated, profile.samples) > NOTED {
        notes.push(format!(
            "{} of the call stacks are cut off: their beginning is not known.",
            format::share(share(profile.truncated, profile.samples))
        ));
    }
    let records_hz = profile.records.saturating_mul(NS_PER_S) / profile.elapsed_ns.max(1);
    if records_hz >= NOTED_RECORDS_HZ {
        notes.push(format!(
            "Its threads left their CPUs about {} times a second, and recording this costs 2 to 3 us \
             each time: it was slower than unobserved. `thrashlab profile --no-waits` does not \
             record it.",
            format::grouped(records_hz / 2)
        ));
    }
    if profile.lost.is_none() {
        notes.push("This kernel does not count records that it loses.".to_owned());
    }
    notes.extend(profile.missed.iter().map(|missed| format!("Not recorded: {missed}.")));
    notes
}

/// A function's name as tables have it: those of generic functions have hundreds of letters.
fn shortened(name: &str) -> String {
    let excess = name.chars().count().saturating_sub(MOST_LETTERS);
    let first = name.char_indices().nth(excess + 1).map_or(name.len(), |(at, _)| at);
    if excess == 0 { name.to_owned() } else { format!("…{}", &name[first..]) }
}

fn function_table(functions: &[FunctionShare], total: u64, most: usize) -> Table {
    let counts = |it: &&FunctionShare| it.share >= LEAST_SHARE;
    let shown = functions.iter().filter(counts).take(most);
    let rows = shown.map(|function| {
        let FunctionShare { counts, share: own, interval } = function;
        [
            Cell::from(shortened(&counts.name)),
            Cell::duration(counts.own as f64),
            Cell::Share(*own),
            Cell::figure(interval.map(in_percent)),
            Cell::Share(share(counts.with_callees, total)),
        ]
    });
    let head = ["on a CPU", "time", "share", "[95 %]", "with callees"];
    let shown = functions.iter().filter(counts).count().min(most);
    let all = functions.iter().filter(|it| it.counts.own > 0).count();
    let caption = if shown < all { format!("{shown} of {all} functions") } else { String::new() };
    Table::of(caption, head, rows)
}

fn wait_table(waits: &[Wait], total: u64, most: usize) -> Table {
    let counts = |wait: &&Wait| share(wait.ns, total) >= LEAST_SHARE;
    let rows = waits.iter().filter(counts).take(most).map(|wait| {
        [
            Cell::from(&wait.function),
            Cell::duration(wait.ns as f64),
            Cell::Share(share(wait.ns, total)),
            Cell::Count(wait.times),
            Cell::from(shortened(&wait.caller)),
        ]
    });
    Table::of("", ["waits in", "time", "share", "times", "for"], rows)
}

fn fault_table(faulting: &[OriginShare], total: Option<u64>, most: usize) -> Table {
    let shown = faulting.iter().filter(|it| it.share >= LEAST_SHARE).take(most);
    let rows = shown.map(|OriginShare { origin, share, interval }| {
        let number = total.map(|total| (total as f64 * share).round() as u64);
        [
            Cell::from(shortened(&origin.function)),
            Cell::from(number),
            Cell::Share(*share),
            Cell::figure(interval.map(in_percent)),
            Cell::from(shortened(origin.caller.as_deref().unwrap_or_default())),
        ]
    });
    let head = ["page faults in", "about", "share", "[95 %]", "called by"];
    Table::of("", head, rows)
}

fn task_table(tasks: &[TaskTime]) -> Table {
    let rows = tasks.iter().take(MOST_TASKS).map(|task| {
        [
            Cell::from(&task.name),
            Cell::Count(task.threads),
            Cell::duration(task.on_cpu_ns as f64),
            Cell::duration(task.waits_ns as f64),
            Cell::duration(task.waits_for_cpu_ns as f64),
        ]
    });
    let caption = most_of(MOST_TASKS, tasks.len(), "names");
    Table::of(caption, ["threads", "number", "on a CPU", "waits", "waits for a CPU"], rows)
}
