//! The JSON lines of `perf stat -j`.
//!
//! A line is a count of one event, of all or of one CPU, thread or group. Every invocation is a
//! trial: a file that several invocations were added to (`--append`) has several. With `-I` the
//! intervals of an invocation are its samples. With `-r` perf writes means and keeps the runs to
//! itself. What perf reckons from counts ("insn per cycle") follows from them and is left out.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Dataset, Response, Trial, Values};
use model::Observation;
use serde_json::{Map, Value};

use super::{Format, Options, Refusal, fact};

/// What this file reads.
pub(super) const FORMAT: Format =
    Format { name: "perf", looks_right: |it| has_counts(it.text), read };

/// The keys that say of what a line is the count.
const PLACES: [&str; 9] =
    ["cpu", "core", "cluster", "cache", "die", "socket", "node", "thread", "cgroup"];
/// What perf writes for a count that it has not.
const ABSENT: [&str; 2] = ["<not supported>", "<not counted>"];
/// Units of counts that add up over CPUs and threads.
const ADDITIVE: [&str; 5] = ["", "msec", "ns", "Joules", "MiB"];
/// A count that ran for a smaller share than this, in %, shared its counter with others.
const WHOLE_PERCENT: f64 = 99.5;
/// An interval that is shorter than this part of the others was cut off by the end.
const SHORT: f64 = 0.9;

/// One count.
struct Count {
    part: Option<String>,
    event: String,
    value: f64,
    interval_s: Option<f64>,
}

/// One invocation of perf.
#[derive(Default)]
struct Invocation {
    first_line: usize,
    started: Option<String>,
    counts: Vec<Count>,
    seen: BTreeSet<(Option<String>, String, Option<u64>)>,
}

/// What is told of all lines together.
#[derive(Default)]
struct Told {
    absent: BTreeMap<String, (String, usize)>,
    shared: BTreeMap<String, f64>,
    means: bool,
    metrics: usize,
    units: BTreeMap<String, String>,
}

/// Whether some line is a count.
pub(super) fn has_counts(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|it| it.trim_start().starts_with('{') && it.contains("\"counter-value\""))
}

fn read(text: &str, _: &Options) -> Result<Dataset, Refusal> {
    let mut told = Told::default();
    let mut invocations: Vec<Invocation> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            let started = comment.trim().strip_prefix("started on ").map(str::to_owned);
            if started.is_some() {
                invocations.push(Invocation { started, ..Invocation::default() });
            }
        } else if !line.is_empty() {
            push(&mut invocations, &mut told, index + 1, line)?;
        }
    }
    invocations.retain(|invocation| !invocation.counts.is_empty());
    if invocations.is_empty() {
        return Err(Refusal::whole("no event was counted"));
    }
    let mut set = Dataset::default();
    for invocation in &invocations {
        let (trial, note) = trial(invocation, &told);
        set.trials.push(trial);
        set.notes.extend(note);
    }
    for values in set.trials.iter().flat_map(|trial| &trial.values) {
        let unit = told.units.get(&values.response).cloned().unwrap_or_default();
        let additive = ADDITIVE.contains(&unit.as_str());
        let meaning = Response { unit, more_is_better: false, additive };
        set.responses.insert(values.response.clone(), meaning);
    }
    set.notes.extend(notes(&told, &invocations));
    Ok(set)
}

/// Takes one line of JSON.
fn push(
    invocations: &mut Vec<Invocation>,
    told: &mut Told,
    line: usize,
    text: &str,
) -> Result<(), Refusal> {
    let Some(count) = count(told, line, text)? else { return Ok(()) };
    let key = (count.part.clone(), count.event.clone(), count.interval_s.map(f64::to_bits));
    if invocations.last().is_none_or(|last| last.seen.contains(&key)) {
        // With a heading another invocation would have begun with one.
        if invocations.last().is_some_and(|last| last.started.is_some()) {
            let reason = format!("{:?} is counted a second time in one invocation", count.event);
            return Err(Refusal::line(line, reason));
        }
        invocations.push(Invocation::default());
    }
    if let Some(last) = invocations.last_mut() {
        if last.counts.is_empty() {
            last.first_line = line;
        }
        last.seen.insert(key);
        last.counts.push(count);
    }
    Ok(())
}

/// The count in a line; `None` if it has none.
fn count(told: &mut Told, line: usize, text: &str) -> Result<Option<Count>, Refusal> {
    let at = |error: serde_json::Error| {
        Refusal::cell(line, error.column().to_string(), error.to_string())
    };
    let fields: Map<String, Value> = serde_json::from_str(text).map_err(at)?;
    let refused = |reason: String| Err(Refusal::line(line, reason));
    let word = |key: &str| fields.get(key).and_then(Value::as_str);
    let Some(event) = word("event").filter(|event| !event.is_empty()) else {
        // A metric that belongs to the line before.
        told.metrics += 1;
        return Ok(None);
    };
    let value = match fields.get("counter-value") {
        Some(Value::String(text)) if ABSENT.contains(&text.as_str()) => {
            told.absent.entry(event.to_owned()).or_insert((text.clone(), 0)).1 += 1;
            return Ok(None);
        }
        Some(Value::String(text)) => text.parse().ok(),
        Some(other) => other.as_f64(),
        None => return refused(format!("{event:?} has no \"counter-value\"")),
    };
    let Some(value) = value.filter(|value: &f64| value.is_finite()) else {
        return refused(format!("\"counter-value\" of {event:?} is no number"));
    };
    let interval_s = fields.get("interval").map(Value::as_f64);
    if interval_s.is_some_and(|end_s| end_s.is_none_or(|end_s| end_s < 0.0)) {
        return refused("\"interval\" is no time".to_owned());
    }
    let running = fields.get("pcnt-running").and_then(Value::as_f64);
    if let Some(share) = running.filter(|share| *share < WHOLE_PERCENT) {
        let least = told.shared.entry(event.to_owned()).or_insert(share);
        *least = least.min(share);
    }
    told.means |= fields.contains_key("variance");
    told.units.insert(event.to_owned(), word("unit").unwrap_or_default().to_owned());
    let part = part(&fields);
    Ok(Some(Count { part, event: event.to_owned(), value, interval_s: interval_s.flatten() }))
}

/// Of what a line is the count; `None` = of all.
fn part(fields: &Map<String, Value>) -> Option<String> {
    let places =
        PLACES.iter().filter_map(|place| Some(format!("{place} {}", fact(fields.get(*place)?))));
    let places: Vec<String> = places.collect();
    (!places.is_empty()).then(|| places.join(" "))
}

/// An invocation as a trial, and what was left out of it.
fn trial(invocation: &Invocation, told: &Told) -> (Trial, Option<String>) {
    let cut_from = invocation.cut_from();
    let mut values: Vec<Values> = Vec::new();
    let mut place: BTreeMap<(Option<&str>, &str), usize> = BTreeMap::new();
    for count in &invocation.counts {
        if cut_from.is_some_and(|cut| count.interval_s == Some(cut)) {
            continue;
        }
        let key = (count.part.as_deref(), count.event.as_str());
        let index = *place.entry(key).or_insert_with(|| {
            let (part, response) = (count.part.clone(), count.event.clone());
            values.push(Values { part, response, samples: Vec::new() });
            values.len() - 1
        });
        values[index].samples.push(Observation::exact(count.value));
    }
    let wholes = wholes(&values, told);
    values.extend(wholes);
    let trial =
        Trial { name: format!("line {}", invocation.first_line), values, ..Trial::default() };
    let note = cut_from.map(|end_s| {
        format!("the last interval, which ended at {end_s} s, is shorter than the others: left out")
    });
    (trial, note)
}

impl Invocation {
    /// The stamp of the last interval if the end of the program cut it off.
    fn cut_from(&self) -> Option<f64> {
        let mut ends: Vec<f64> = self.counts.iter().filter_map(|count| count.interval_s).collect();
        ends.dedup();
        let [.., before, last] = ends[..] else { return None };
        let lengths: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let usual = stats::median(&lengths[..lengths.len() - 1]).or(ends.first().copied())?;
        (last - before < SHORT * usual).then_some(last)
    }
}

/// The sums over CPUs, threads or groups of counts that add up and that all of them have.
fn wholes(values: &[Values], told: &Told) -> Vec<Values> {
    let parts: BTreeSet<&str> = values.iter().filter_map(|it| it.part.as_deref()).collect();
    let mut events: Vec<&str> = values.iter().map(|values| values.response.as_str()).collect();
    events.sort_unstable();
    events.dedup();
    let unit = |event: &str| told.units.get(event).map_or("", String::as_str);
    let whole = |event: &&str| {
        let of_event: Vec<&Values> = values.iter().filter(|it| it.response == **event).collect();
        let length = of_event.first()?.samples.len();
        let complete = of_event.len() == parts.len() && of_event.iter().all(|it| it.part.is_some());
        let even = of_event.iter().all(|it| it.samples.len() == length);
        (complete && even && ADDITIVE.contains(&unit(event))).then(|| {
            let sum = |index: usize| of_event.iter().map(|it| it.samples[index].value).sum();
            let sums: Vec<f64> = (0..length).map(sum).collect();
            Values::exact(None, event, &sums)
        })
    };
    if parts.is_empty() { Vec::new() } else { events.iter().filter_map(whole).collect() }
}

fn notes(told: &Told, invocations: &[Invocation]) -> Vec<String> {
    let mut notes = Vec::new();
    for (event, (word, count)) in &told.absent {
        let word = word.trim_matches(['<', '>']);
        notes.push(format!("{event}: {word}, in {count} lines; not 0, but absent"));
    }
    for (event, share) in &told.shared {
        notes.push(format!(
            "{event} was counted in {share} % of the time and scaled up: the counters were shared"
        ));
    }
    if told.means {
        notes.push(
            "perf stat -r writes means and keeps the single runs to itself: no intervals and no \
             tests; run perf stat -j --append -o FILE several times instead"
                .to_owned(),
        );
    }
    if invocations.iter().any(|it| it.counts.iter().any(|count| count.interval_s.is_some())) {
        notes.push(
            "intervals of one process are its samples: how processes differ from each other was \
             not seen"
                .to_owned(),
        );
    }
    if told.metrics > 0 {
        notes.push(format!("{} lines are metrics, which follow from the counts", told.metrics));
    }
    let started: Vec<&str> = invocations.iter().filter_map(|it| it.started.as_deref()).collect();
    if let [first, .., last] = started[..] {
        notes.push(format!("begun from {first} to {last}, in a time zone that perf does not tell"));
    } else if let [only] = started[..] {
        notes.push(format!("begun at {only}, in a time zone that perf does not tell"));
    }
    notes
}
