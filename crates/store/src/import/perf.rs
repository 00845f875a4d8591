//! The JSON lines of `perf stat -j`: trials are invocations, samples are intervals (`-I`).

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Dataset, Response, Trial, Values};
use itertools::Itertools;
use model::Observation;
use serde_json::{Map, Value};

use super::{Imported, Options, Refusal, fact};

const PLACES: [&str; 9] =
    ["cpu", "core", "cluster", "cache", "die", "socket", "node", "thread", "cgroup"];
/// perf's markers of a missing count.
const ABSENT: [&str; 2] = ["<not supported>", "<not counted>"];
/// Units that add up over CPUs and threads.
const ADDITIVE: [&str; 5] = ["", "msec", "ns", "Joules", "MiB"];
/// A count with a smaller share, in %, was multiplexed.
const WHOLE_PERCENT: f64 = 99.5;
/// An interval shorter than this share of the usual was cut off.
const SHORT: f64 = 0.9;
const MEANS: &str = "perf stat -r writes means and keeps the single runs to itself: no intervals \
     and no tests; run perf stat -j --append -o FILE several times instead";
const INTERVALS: &str = "intervals of one process are its samples: variation between processes is \
     unknown";

/// One count; the end of its interval in s.
struct Count {
    part: Option<String>,
    event: String,
    value: f64,
    interval_s: Option<f64>,
}

#[derive(Default)]
struct Invocation {
    first_line: usize,
    started: Option<String>,
    counts: Vec<Count>,
    seen: BTreeSet<(Option<String>, String, Option<u64>)>,
}

#[derive(Default)]
struct Read {
    invocations: Vec<Invocation>,
    absent: BTreeMap<String, (String, usize)>,
    shared: BTreeMap<String, f64>,
    means: bool,
    metrics: usize,
    units: BTreeMap<String, String>,
}

pub(super) fn has_counts(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|it| it.trim_start().starts_with('{') && it.contains("\"counter-value\""))
}

pub(super) fn read(text: &str, _: &Options) -> Imported {
    let mut read = Read::default();
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        if let Some(comment) = text.strip_prefix('#') {
            let started = comment.trim().strip_prefix("started on ").map(str::to_owned);
            if started.is_some() {
                read.invocations.push(Invocation { started, ..Invocation::default() });
            }
        } else if !text.is_empty()
            && let Some(count) = read.count(line, text)?
        {
            read.push(line, count)?;
        }
    }
    read.invocations.retain(|invocation| !invocation.counts.is_empty());
    if read.invocations.is_empty() {
        return Err(Refusal::whole("no event was counted"));
    }
    let mut set = Dataset::default();
    for invocation in &read.invocations {
        let cut_s = invocation.cut_from();
        let mut values = invocation.values(cut_s);
        values.extend(read.wholes(&values));
        let name = format!("line {}", invocation.first_line);
        set.trials.push(Trial { name, values, ..Trial::default() });
        set.notes.extend(cut_s.map(|end_s| {
            format!(
                "the last interval, which ended at {end_s} s, is shorter than the others: left out"
            )
        }));
    }
    let events = set.trials.iter().flat_map(|trial| &trial.values).map(|it| &it.response);
    let meaning = |event: &String| {
        let (unit, additive) = (read.unit(event), ADDITIVE.contains(&read.unit(event)));
        (event.clone(), Response { unit: unit.to_owned(), more_is_better: false, additive })
    };
    set.responses = events.map(meaning).collect();
    set.notes.extend(read.notes());
    Ok(set)
}

impl Read {
    /// Adds a count to the last invocation, or starts a new one if that already has it.
    fn push(&mut self, line: usize, count: Count) -> Result<(), Refusal> {
        let key = (count.part.clone(), count.event.clone(), count.interval_s.map(f64::to_bits));
        match self.invocations.last() {
            // A new invocation would have a heading.
            Some(last) if last.seen.contains(&key) && last.started.is_some() => {
                let reason =
                    format!("{:?} is counted a second time in one invocation", count.event);
                return Err(Refusal::line(line, reason));
            }
            Some(last) if !last.seen.contains(&key) => {}
            _ => self.invocations.push(Invocation::default()),
        }
        if let Some(last) = self.invocations.last_mut() {
            if last.counts.is_empty() {
                last.first_line = line;
            }
            last.seen.insert(key);
            last.counts.push(count);
        }
        Ok(())
    }

    fn count(&mut self, line: usize, text: &str) -> Result<Option<Count>, Refusal> {
        let fields: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| Refusal::cell(line, error.column(), error))?;
        let refused = |reason: String| Err(Refusal::line(line, reason));
        let word = |key: &str| fields.get(key).and_then(Value::as_str);
        let Some(event) = word("event").filter(|event| !event.is_empty()) else {
            // A metric of the line before.
            self.metrics += 1;
            return Ok(None);
        };
        let value = match fields.get("counter-value") {
            Some(Value::String(text)) if ABSENT.contains(&text.as_str()) => {
                self.absent.entry(event.to_owned()).or_insert((text.clone(), 0)).1 += 1;
                return Ok(None);
            }
            Some(Value::String(text)) => text.parse().ok(),
            Some(other) => other.as_f64(),
            None => return refused(format!("{event:?} has no \"counter-value\"")),
        };
        let Some(value) = value.filter(|value: &f64| value.is_finite()) else {
            return refused(format!("\"counter-value\" of {event:?} is not a number"));
        };
        let interval_s = fields.get("interval").map(Value::as_f64);
        if interval_s.is_some_and(|end_s| end_s.is_none_or(|end_s| end_s < 0.0)) {
            return refused("\"interval\" is not a time".to_owned());
        }
        let running = fields.get("pcnt-running").and_then(Value::as_f64);
        if let Some(share) = running.filter(|share| *share < WHOLE_PERCENT) {
            let least = self.shared.entry(event.to_owned()).or_insert(share);
            *least = least.min(share);
        }
        self.means |= fields.contains_key("variance");
        self.units.insert(event.to_owned(), word("unit").unwrap_or_default().to_owned());
        let part = part(&fields);
        Ok(Some(Count { part, event: event.to_owned(), value, interval_s: interval_s.flatten() }))
    }

    fn unit(&self, event: &str) -> &str {
        self.units.get(event).map_or("", String::as_str)
    }

    /// The sums over CPUs, threads or groups, where counts are additive and complete.
    fn wholes(&self, values: &[Values]) -> Vec<Values> {
        let parts: BTreeSet<&str> = values.iter().filter_map(|it| it.part.as_deref()).collect();
        let events = values.iter().into_group_map_by(|one| one.response.as_str());
        let whole = |(event, of_event): (&str, Vec<&Values>)| {
            let length = of_event[0].samples.len();
            let complete =
                of_event.len() == parts.len() && of_event.iter().all(|it| it.part.is_some());
            let even = of_event.iter().all(|it| it.samples.len() == length);
            (complete && even && ADDITIVE.contains(&self.unit(event))).then(|| {
                let sum = |index: usize| of_event.iter().map(|it| it.samples[index].value).sum();
                let sums: Vec<f64> = (0..length).map(sum).collect();
                Values::exact(None, event, &sums)
            })
        };
        events.into_iter().sorted_by_key(|(event, _)| *event).filter_map(whole).collect()
    }

    fn notes(&self) -> Vec<String> {
        let absent = self.absent.iter().map(|(event, (word, count))| {
            let word = word.trim_matches(['<', '>']);
            format!("{event}: {word}, in {count} lines; not 0, but absent")
        });
        let shared = self.shared.iter().map(|(event, share)| {
            format!(
                "{event} was counted in {share} % of the time and scaled up: the counters were \
                 shared"
            )
        });
        let mut notes: Vec<String> = absent.chain(shared).collect();
        let mut counts = self.invocations.iter().flat_map(|it| &it.counts);
        let intervals = counts.any(|count| count.interval_s.is_some());
        notes.extend(self.means.then(|| MEANS.to_owned()));
        notes.extend(intervals.then(|| INTERVALS.to_owned()));
        if self.metrics > 0 {
            notes.push(format!("{} lines are metrics, which follow from the counts", self.metrics));
        }
        let started = self.invocations.iter().filter_map(|it| it.started.as_deref()).collect_vec();
        let begun = match started[..] {
            [] => return notes,
            [only] => format!("at {only}"),
            [first, .., last] => format!("from {first} to {last}"),
        };
        notes.push(format!("begun {begun}, in a time zone that perf does not record"));
        notes
    }
}

impl Invocation {
    /// The end of the last interval, if that was cut off.
    fn cut_from(&self) -> Option<f64> {
        let mut ends: Vec<f64> = self.counts.iter().filter_map(|count| count.interval_s).collect();
        ends.dedup();
        let [.., before, last] = ends[..] else { return None };
        let lengths: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let usual = stats::median(&lengths[..lengths.len() - 1]).or(ends.first().copied())?;
        (last - before < SHORT * usual).then_some(last)
    }

    /// The values without the interval that ends at `cut_s`.
    fn values(&self, cut_s: Option<f64>) -> Vec<Values> {
        let mut values: Vec<Values> = Vec::new();
        let mut place: BTreeMap<(Option<&str>, &str), usize> = BTreeMap::new();
        for Count { part, event, value, interval_s } in &self.counts {
            if cut_s.is_some() && *interval_s == cut_s {
                continue;
            }
            let index = *place.entry((part.as_deref(), event)).or_insert_with(|| {
                values.push(Values::exact(part.clone(), event, &[]));
                values.len() - 1
            });
            values[index].samples.push(Observation::exact(*value));
        }
        values
    }
}

/// The counted place; `None` for everything.
fn part(fields: &Map<String, Value>) -> Option<String> {
    let text = |place: &&str| Some(format!("{place} {}", fact(fields.get(*place)?)));
    Some(PLACES.iter().filter_map(text).join(" ")).filter(|places| !places.is_empty())
}
