//! Output of `perf stat`, as JSON lines (`-j`), CSV (`-x`) or text: trials are invocations, samples are intervals (`-I`).

use std::collections::{BTreeMap, BTreeSet};

use analysis::quantity::{Quantity, scaled};
use analysis::{Direction, Values, listed};
use itertools::Itertools;
use model::Observation;
use serde_json::{Map, Value};

use crate::dataset::{Imported, Options, Refusal, fact};
use crate::measurement::{ForeignMeasurement, ForeignTrial};
use crate::perf_plain::{self, PlainCount};
use crate::results::ForeignResults;

const PLACES: [&str; 9] =
    ["cpu", "core", "cluster", "cache", "die", "socket", "node", "thread", "cgroup"];
/// Lines of a text of perf.
const HEADINGS: [&str; 3] = ["Performance counter stats for", "# started on", "counts unit events"];
/// perf's markers of a missing count.
const ABSENT: [&str; 2] = ["<not supported>", "<not counted>"];
/// Dimensions of units that add up over CPUs and threads; a count has none.
const ADDITIVE: [&str; 4] = ["", "time", "energy", "bytes"];
/// Events of which less is better for the same work, without their modifiers; also those that end
/// in one of [`WASTED`], and times.
const COSTS: [&str; 14] = [
    "alignment-faults",
    "context-switches",
    "cpu-cycles",
    "cpu-migrations",
    "cs",
    "cycles",
    "emulation-faults",
    "faults",
    "instructions",
    "major-faults",
    "migrations",
    "minor-faults",
    "page-faults",
    "ref-cycles",
];
const WASTED: [&str; 3] = ["-misses", "-faults", "-stalls"];
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
    unit: String,
    value: f64,
    interval_s: Option<f64>,
}

#[derive(Default)]
struct Invocation {
    first_line: usize,
    started: Option<String>,
    /// The command, which only text has.
    command: Option<String>,
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
    /// Lines of text that are not counts.
    others: Vec<usize>,
    /// The units of an event.
    units: BTreeMap<String, BTreeSet<String>>,
}

pub(super) fn has_counts(text: &str) -> bool {
    let has = |is: &dyn Fn(&str) -> bool| text.lines().any(is);
    let is_json =
        |line: &str| line.trim_start().starts_with('{') && line.contains("\"counter-value\"");
    let is_text = has(&|line| HEADINGS.iter().any(|heading| line.contains(heading)));
    has(&is_json) || has(&perf_plain::is_csv) || (is_text && has(&perf_plain::is_text))
}

pub(super) fn read(text: &str, options: &Options) -> Imported {
    let mut read = Read::default();
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        if let Some(command) = perf_plain::command(text) {
            read.begin(command);
        } else if let Some(comment) = text.strip_prefix('#') {
            let started = comment.trim().strip_prefix("started on ").map(str::to_owned);
            if started.is_some() {
                read.invocations.push(Invocation { started, ..Invocation::default() });
            }
        } else if !text.is_empty() {
            let count = match text.starts_with('{') {
                true => read.count(line, text)?,
                false => read.plain_count(line, text)?,
            };
            if let Some(count) = count {
                read.push(line, count)?;
            }
        }
    }
    read.invocations.retain(|invocation| !invocation.counts.is_empty());
    if read.invocations.is_empty() {
        return Err(Refusal::whole("no event was counted"));
    }
    read.unify_units()?;
    let mut found = ForeignResults::default();
    for invocation in &read.invocations {
        let cut_s = invocation.cut_from();
        let mut values = invocation.values(cut_s);
        values.extend(read.wholes(&values));
        let measurements = values.into_iter().map(|one| read.measurement(one)).collect();
        let name = format!("line {}", invocation.first_line);
        let command = invocation.command.iter().map(|command| ("command", command.clone()));
        found.trials.push(ForeignTrial::of_file(name, command, measurements));
        found.notes.extend(cut_s.map(|end_s| {
            format!(
                "the last interval, which ended at {end_s} s, is shorter than the others: left out"
            )
        }));
    }
    found.notes.extend(read.notes());
    found.finish(options)
}

/// Which way an event gets better for the same work, if known.
fn direction(event: &str, unit: &str) -> Direction {
    let plain = event.split(':').next().unwrap_or(event);
    let plain = plain.trim_matches('/').rsplit('/').next().unwrap_or(plain);
    let is_cost = COSTS.contains(&plain)
        || WASTED.iter().any(|ending| plain.ends_with(ending))
        || ["time", "energy"].contains(&&*Quantity::of_unit(unit).dimension);
    if is_cost { Direction::LessIsBetter } else { Direction::Unknown }
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

    /// Begins an invocation of a command, unless one has just begun.
    fn begin(&mut self, command: &str) {
        if self.invocations.last().is_none_or(|last| !last.counts.is_empty()) {
            self.invocations.push(Invocation::default());
        }
        if let Some(last) = self.invocations.last_mut() {
            last.command = Some(command.to_owned());
        }
    }

    /// Reads a line of text or CSV. Fails for a number that may mean several.
    fn plain_count(&mut self, line: usize, text: &str) -> Result<Option<Count>, Refusal> {
        let Some(count) = perf_plain::count(text) else {
            if !perf_plain::is_end(text) {
                self.others.push(line);
            }
            return Ok(None);
        };
        let count = count.map_err(|why| Refusal::line(line, why))?;
        let PlainCount { part, event, unit, value, interval_s, running, is_mean } = count;
        self.means |= is_mean;
        let Ok(value) = value.map_err(|word| self.push_absent(&event, &word)) else {
            return Ok(None);
        };
        self.push_share(&event, running);
        self.units.entry(event.clone()).or_default().insert(unit.clone());
        Ok(Some(Count { part, event, unit, value, interval_s }))
    }

    fn push_absent(&mut self, event: &str, word: &str) {
        self.absent.entry(event.to_owned()).or_insert((word.to_owned(), 0)).1 += 1;
    }

    fn push_share(&mut self, event: &str, running: Option<f64>) {
        if let Some(share) = running.filter(|share| *share < WHOLE_PERCENT) {
            let least = self.shared.entry(event.to_owned()).or_insert(share);
            *least = least.min(share);
        }
    }

    fn count(&mut self, line: usize, text: &str) -> Result<Option<Count>, Refusal> {
        let fields: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| match comma_number(text) {
                Some(number) => Refusal::line(line, decimal_comma(number)),
                None => Refusal::cell(line, error.column(), error),
            })?;
        let refused = |reason: String| Err(Refusal::line(line, reason));
        let word = |key: &str| fields.get(key).and_then(Value::as_str);
        let Some(event) = word("event").filter(|event| !event.is_empty()) else {
            // A metric of the line before.
            self.metrics += 1;
            return Ok(None);
        };
        let value = match fields.get("counter-value") {
            Some(Value::String(text)) if ABSENT.contains(&text.as_str()) => {
                self.push_absent(event, text);
                return Ok(None);
            }
            Some(Value::String(text)) => text.parse().ok(),
            Some(other) => other.as_f64(),
            None => return refused(format!("{event:?} has no \"counter-value\"")),
        };
        let Some(value) = value.filter(|value: &f64| value.is_finite()) else {
            let text = word("counter-value").unwrap_or_default();
            return refused(match text.contains(',') {
                true => format!("{event:?}: {}", decimal_comma(text)),
                false => format!("\"counter-value\" of {event:?} is not a number"),
            });
        };
        let interval_s = fields.get("interval").map(Value::as_f64);
        if interval_s.is_some_and(|end_s| end_s.is_none_or(|end_s| end_s < 0.0)) {
            return refused("\"interval\" is not a time".to_owned());
        }
        let running = fields.get("pcnt-running").and_then(Value::as_f64);
        self.push_share(event, running);
        self.means |= fields.contains_key("variance");
        let (event, unit) = (event.to_owned(), word("unit").unwrap_or_default().to_owned());
        self.units.entry(event.clone()).or_default().insert(unit.clone());
        let part = part(&fields);
        Ok(Some(Count { part, event, unit, value, interval_s: interval_s.flatten() }))
    }

    /// The unit of an event, after [`Self::unify_units`].
    fn unit(&self, event: &str) -> &str {
        self.units.get(event).and_then(BTreeSet::first).map_or("", String::as_str)
    }

    /// Converts the counts of an event that has several units into the usual one. Fails if these
    /// measure different things.
    fn unify_units(&mut self) -> Result<(), Refusal> {
        for (event, units) in self.units.iter_mut().filter(|(_, units)| units.len() > 1) {
            let usual = units.iter().find_map(|unit| Quantity::of_unit(unit).usual_unit());
            let Some(usual) = usual else { return Err(mixed(event, units)) };
            let to = Quantity::of_unit(&usual);
            let counts = self.invocations.iter_mut().flat_map(|it| &mut it.counts);
            for count in counts.filter(|count| count.event == *event) {
                let factor = Quantity::of_unit(&count.unit).in_units_of(&to);
                count.value = scaled(count.value, factor.ok_or_else(|| mixed(event, units))?);
                count.unit.clone_from(&usual);
            }
            *units = BTreeSet::from([usual]);
        }
        Ok(())
    }

    fn measurement(&self, values: Values) -> ForeignMeasurement {
        let Values { part, response: event, samples } = values;
        let unit = self.unit(&event);
        let one = ForeignMeasurement::values(&event, unit, direction(&event, unit), samples);
        ForeignMeasurement { part, additive: is_additive(unit), ..one }
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
            (complete && even && is_additive(self.unit(event))).then(|| {
                let sum = |index: usize| of_event.iter().map(|it| it.samples[index].value).sum();
                let sums: Vec<f64> = (0..length).map(sum).collect();
                Values::exact(None, event, &sums)
            })
        };
        events.into_iter().sorted_by_key(|(event, _)| *event).filter_map(whole).collect()
    }

    fn notes(&self) -> Vec<String> {
        let directions = self.units.keys().map(|event| (event, direction(event, self.unit(event))));
        let unknown = directions.filter(|(_, direction)| *direction == Direction::Unknown);
        let unknown: Vec<&String> = unknown.map(|(event, _)| event).collect();
        let unknown = (!unknown.is_empty())
            .then(|| format!("it is unknown whether more is better: {}", listed(&unknown)));
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
        let mut notes: Vec<String> = absent.chain(shared).chain(unknown).collect();
        let mut counts = self.invocations.iter().flat_map(|it| &it.counts);
        let intervals = counts.any(|count| count.interval_s.is_some());
        notes.extend(
            (!self.others.is_empty())
                .then(|| format!("no counts and not read: lines {}", listed(&self.others))),
        );
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
        for Count { part, event, value, interval_s, .. } in &self.counts {
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

fn is_additive(unit: &str) -> bool {
    ADDITIVE.contains(&&*Quantity::of_unit(unit).dimension)
}

fn mixed(event: &str, units: &BTreeSet<String>) -> Refusal {
    Refusal::whole(format!(
        "{event} is counted in {}, which measure different things",
        units.iter().map(|unit| format!("{unit:?}")).join(" and ")
    ))
}

/// The first number with a decimal comma in a line that is otherwise JSON.
fn comma_number(text: &str) -> Option<&str> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == ',' || c == '.';
    let numbers = text.split(|c: char| !is_of_number(c));
    numbers.map(|it| it.trim_end_matches(',')).find(|it| {
        it.split_once(',').is_some_and(|(whole, part)| !whole.is_empty() && !part.is_empty())
    })
}

fn decimal_comma(number: &str) -> String {
    format!("{number} has a comma, of a locale: measure again with LC_ALL=C perf stat -j")
}

/// The counted place; `None` for everything.
fn part(fields: &Map<String, Value>) -> Option<String> {
    let text = |place: &&str| Some(format!("{place} {}", fact(fields.get(*place)?)));
    Some(PLACES.iter().filter_map(text).join(" ")).filter(|places| !places.is_empty())
}
