//! Observations as Go benchmark lines for benchstat and related tools
//! (<https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md>, and for
//! `Unit` lines <https://pkg.go.dev/golang.org/x/perf/benchfmt>).

use std::collections::BTreeMap;
use std::io::{self, Write};

use analysis::comparison::BOOT_ID;
use analysis::{Dataset, Direction, Response, Trial, Values};
use model::units::split_time_name;

/// What a line contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Each {
    /// The median of each trial; each sample where a cell has only one trial.
    #[default]
    Usual,
    /// The median of each trial.
    Trial,
    /// Each sample.
    Sample,
}

/// The first of these that exists becomes `ns/op`.
const PRIMARY: [&str; 5] = ["delay_ns", "elapsed_ns", "touch_ns", "elapsed_s", "real_ns"];
/// The factor of imported benchmark names.
const BENCHMARK: &str = "benchmark";
/// The factor and fact of the CPUs that imported benchmarks used.
const PROCS: &str = "procs";
/// Parts of the identity that are in the name of a benchmark.
const IN_NAMES: [&str; 2] = [BENCHMARK, PROCS];
/// Comments: the levels in names, the session of the lines below, and a response that failed.
const LEVELS: &str = "# thrashlab-levels:";
const SESSION: &str = "# thrashlab-session:";
const LOST: &str = "# thrashlab-failed:";
/// Fewest samples for a 99th percentile.
const FOR_P99: usize = 100;

struct Unit {
    name: String,
    factor: f64,
    direction: Direction,
}

/// Writes the facts that all trials share as configuration, then the lines.
pub fn write(set: &Dataset, each: Each, out: &mut dyn Write) -> io::Result<()> {
    let by_sample = match each {
        Each::Trial => false,
        Each::Sample => true,
        Each::Usual => has_single_trials(set),
    };
    let shared = shared_facts(set);
    for (key, value) in &shared {
        writeln!(out, "{key}: {value}")?;
    }
    writeln!(out, "thrashlab-unit: {}", if by_sample { "sample" } else { "trial" })?;
    let units = units(set);
    let levels = set.factors.iter().filter(|factor| is_in_name(set, &factor.name));
    let levels: Vec<String> = levels.map(|factor| encoded(&factor.name, "")).collect();
    writeln!(out, "{LEVELS} {}", levels.join(" "))?;
    for (name, direction) in spelled(set, &units, by_sample) {
        if let Some(more_is_better) = direction.known() {
            let better = if more_is_better { "higher" } else { "lower" };
            writeln!(out, "Unit {name} better={better}")?;
        }
    }
    writeln!(out)?;
    let mut described = Described { session: None, configuration: shared };
    for trial in &set.trials {
        described.write(set, trial, out)?;
        if let Some(problem) = trial.remark() {
            writeln!(out, "# {}: {}", one_line(&trial.name), one_line(&problem))?;
        }
        write_outcome(set, trial, &units, out)?;
        let mut parts: BTreeMap<Option<&str>, Vec<(&Unit, &Values)>> = BTreeMap::new();
        for values in &trial.values {
            let part = parts.entry(values.part.as_deref()).or_default();
            part.extend(units.get(values.response.as_str()).map(|unit| (unit, values)));
        }
        // Values before a failure are not those of a whole run.
        let is_whole = trial.outcome().split_once(": ").is_none();
        for (part, values) in parts.into_iter().filter(|_| is_whole) {
            let name = name(set, trial, part);
            let count = values.iter().map(|(_, values)| values.samples.len()).max().unwrap_or(0);
            match by_sample {
                true => {
                    (0..count).try_for_each(|index| line(&name, 1, &sample(&values, index), out))
                }
                false => line(&name, count, &summary(&values), out),
            }?;
        }
    }
    Ok(())
}

/// What was written of a trial's work and session; repeated only where it changes.
struct Described {
    session: Option<String>,
    configuration: BTreeMap<String, String>,
}

impl Described {
    /// Writes the session as a comment, and levels that are configuration as such.
    fn write(&mut self, set: &Dataset, trial: &Trial, out: &mut dyn Write) -> io::Result<()> {
        let session = one_line(trial.session.as_deref().unwrap_or(&trial.name));
        if self.session.as_ref() != Some(&session) {
            writeln!(out, "{SESSION} {session}")?;
            self.session = Some(session);
        }
        let factors = set.factors.iter().map(|factor| &factor.name);
        let factors = factors.filter(|name| is_configuration(set, name));
        let is_unvaried =
            |name: &&String| set.factor(name).is_none() && !IN_NAMES.contains(&&***name);
        let unvaried = trial.identity.keys().filter(is_unvaried);
        for name in factors.chain(unvaried) {
            let level = trial.levels.get(name).or_else(|| trial.identity.get(name));
            let level = level.map_or("", String::as_str);
            let (key, level) = (key(name), one_line(level));
            if self.configuration.get(&key).map_or("", String::as_str) != level {
                writeln!(out, "{key}: {level}")?;
                self.configuration.insert(key, level);
            }
        }
        Ok(())
    }
}

/// Whether a factor is a fact of each trial, as configuration lines of Go's format are.
fn is_configuration(set: &Dataset, factor: &str) -> bool {
    let is_fact = |trial: &Trial| trial.environment.get(factor) == trial.levels.get(factor);
    let has_level = |trial: &Trial| trial.levels.contains_key(factor);
    factor != PROCS && set.trials.iter().all(is_fact) && set.trials.iter().any(has_level)
}

/// Whether the level of a factor is written in names.
fn is_in_name(set: &Dataset, factor: &str) -> bool {
    factor != BENCHMARK && factor != PROCS && !is_configuration(set, factor)
}

/// Writes a line on what failed or was skipped, as `go test` does.
fn write_outcome(
    set: &Dataset,
    trial: &Trial,
    units: &BTreeMap<&str, Unit>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let outcome = trial.outcome();
    let name = name(set, trial, None);
    if let Some((word, why)) = outcome.split_once(": ") {
        let word = if word == "failed" { "FAIL" } else { "SKIP" };
        writeln!(out, "--- {word}: {name} {}", one_line(why))?;
    }
    for (response, why) in &trial.lost {
        if let Some(unit) = units.get(response.as_str()) {
            writeln!(out, "{LOST} {} {name} {}", unit.name, one_line(why))?;
        }
    }
    Ok(())
}

/// Whether some cell has a single trial with several samples.
fn has_single_trials(set: &Dataset) -> bool {
    let mut cells: BTreeMap<_, (usize, usize)> = BTreeMap::new();
    for trial in &set.trials {
        for values in &trial.values {
            let cell = cells.entry((&trial.levels, &values.part, &values.response));
            let found = cell.or_insert((0, 0));
            *found = (found.0 + 1, found.1.max(values.samples.len()));
        }
    }
    cells.values().any(|(trials, samples)| *trials == 1 && *samples > 1)
}

fn shared_facts(set: &Dataset) -> BTreeMap<String, String> {
    let facts = |trial: &Trial| -> BTreeMap<String, String> {
        let all = trial.environment.iter().chain(&trial.meaning);
        all.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let Some(first) = set.trials.first() else { return BTreeMap::new() };
    let mut shared = facts(first);
    for trial in &set.trials[1..] {
        let others = facts(trial);
        shared.retain(|key, value| others.get(key) == Some(value));
    }
    shared.retain(|key, value| key != BOOT_ID && !value.trim().is_empty());
    shared.into_iter().map(|(fact, value)| (key(&fact), one_line(&value))).collect()
}

/// A fact's name as a key, in lower case without blanks; the CPU has Go's name.
fn key(fact: &str) -> String {
    if fact == "cpu_model" {
        return "cpu".to_owned();
    }
    let fits = |c: char| if c.is_whitespace() || c == ':' { '_' } else { c };
    let key: String = fact.to_lowercase().chars().map(fits).collect();
    if key.starts_with(char::is_lowercase) { key } else { format!("x{key}") }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn units(set: &Dataset) -> BTreeMap<&str, Unit> {
    let primary = PRIMARY.into_iter().find(|name| set.responses.contains_key(*name));
    let unit = |name: &str, response| unit(name, response, primary == Some(name));
    set.responses.iter().map(|(name, response)| (name.as_str(), unit(name, response))).collect()
}

fn unit(name: &str, response: &Response, is_primary: bool) -> Unit {
    let direction = response.direction;
    let word = |text: &str| {
        let fits = |c: char| if c.is_whitespace() || c == '_' { '-' } else { c };
        text.chars().map(fits).collect::<String>()
    };
    let (name, factor) = match split_time_name(name) {
        // Imported figures are named by their units.
        _ if name.contains('/') || name == response.unit => (word(name), 1.0),
        Some((.., factor)) if is_primary => ("ns/op".to_owned(), factor),
        Some((stem, _, factor)) => (format!("{}-ns/op", word(stem)), factor),
        None => match name.strip_suffix("_per_s") {
            Some(stem) => (format!("{}/s", word(stem)), 1.0),
            None => (format!("{}/op", word(name)), 1.0),
        },
    };
    Unit { name, factor, direction }
}

/// All units with their directions, except those that Go knows.
fn spelled(
    set: &Dataset,
    units: &BTreeMap<&str, Unit>,
    by_sample: bool,
) -> Vec<(String, Direction)> {
    let mut all = BTreeMap::new();
    for values in set.trials.iter().flat_map(|trial| &trial.values) {
        let Some(unit) = units.get(values.response.as_str()) else { continue };
        all.insert(unit.name.clone(), unit.direction);
        if !by_sample && values.samples.len() > 1 {
            let more = distribution(unit, &values.at_bounds()).into_iter();
            all.extend(more.map(|(name, _)| (name, unit.direction)));
        }
    }
    all.into_iter().filter(|(name, _)| name != "ns/op").collect()
}

/// `BenchmarkResponse/load=cpuload-2`: measure, levels, part and CPUs. Other characters are
/// percent-encoded (`%20`), so that names stay distinct.
fn name(set: &Dataset, trial: &Trial, part: Option<&str>) -> String {
    let mut name = String::from("Benchmark");
    match trial.levels.get(BENCHMARK).or_else(|| trial.identity.get(BENCHMARK)) {
        Some(known) => name += &encoded(known, "/="),
        None => {
            let measure = trial.meaning.get("measure").map_or("Trial", String::as_str);
            let mut letters = measure.split_whitespace().next().unwrap_or("Trial").chars();
            name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            name += &encoded(letters.as_str(), "");
        }
    }
    let levels = set.factors.iter().filter(|factor| is_in_name(set, &factor.name));
    for factor in levels {
        if let Some(level) = trial.levels.get(&factor.name) {
            name += &format!("/{}={}", encoded(&factor.name, ""), encoded(level, ""));
        }
    }
    if let Some(part) = part {
        name += &format!("/part={}", encoded(part, ""));
    }
    let facts = [PROCS, "cpus_online"];
    let cpus = trial.levels.get(PROCS);
    let cpus = cpus.or_else(|| facts.iter().find_map(|fact| trial.environment.get(*fact)));
    let cpus = cpus.or_else(|| trial.identity.get(PROCS));
    match cpus.and_then(|cpus| cpus.parse::<u32>().ok()) {
        Some(cpus) => name += &format!("-{cpus}"),
        // A trailing number would be read as CPUs.
        None => {
            let number = name.rsplit_once('-').filter(|(_, end)| end.parse::<u32>().is_ok());
            if let Some((start, end)) = number {
                name = format!("{start}%2D{end}");
            }
        }
    }
    name
}

/// Escapes blanks, control characters, `%`, `/`, `=` and `"`, except those in `stay`.
fn encoded(text: &str, stay: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        let bad = c.is_whitespace() || c.is_control() || "%/=\"".contains(c);
        if bad && !stay.contains(c) {
            let mut bytes = [0; 4];
            name.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")));
        } else {
            name.push(c);
        }
    }
    name
}

/// Mean, high percentile and maximum of a trial's samples.
fn distribution(unit: &Unit, samples: &[f64]) -> Vec<(String, f64)> {
    let mut found = vec![("mean", samples.iter().sum::<f64>() / samples.len() as f64)];
    if samples.len() >= FOR_P99 {
        found.extend(stats::quantile(samples, 0.99).map(|value| ("p99", value)));
    }
    found.push(("max", samples.iter().copied().fold(f64::NEG_INFINITY, f64::max)));
    let named = |(what, value)| (format!("{what}-{}", unit.name), value * unit.factor);
    found.into_iter().map(named).collect()
}

fn summary(values: &[(&Unit, &Values)]) -> Vec<(String, f64)> {
    let mut pairs = Vec::new();
    for (unit, one) in values {
        let median = stats::median(&one.at_bounds()).map(|median| median * unit.factor);
        pairs.extend(median.map(|median| (unit.name.clone(), median)));
        if one.samples.len() > 1 {
            pairs.extend(distribution(unit, &one.at_bounds()));
        }
    }
    let censored = values.iter().map(|(_, one)| one.censored()).max().filter(|count| *count > 0);
    pairs.extend(censored.map(|count| ("censored".to_owned(), count as f64)));
    pairs
}

fn sample(values: &[(&Unit, &Values)], index: usize) -> Vec<(String, f64)> {
    let samples = || values.iter().filter_map(|(unit, one)| Some((unit, one.samples.get(index)?)));
    let pairs = samples().map(|(unit, sample)| (unit.name.clone(), sample.value * unit.factor));
    let is_bound = samples().any(|(_, sample)| sample.is_lower_bound);
    pairs.chain(is_bound.then(|| ("censored".to_owned(), 1.0))).collect()
}

/// A line with `ns/op` first, as Go prints it.
fn line(name: &str, count: usize, pairs: &[(String, f64)], out: &mut dyn Write) -> io::Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    write!(out, "{name} {count}")?;
    let (first, others): (Vec<_>, Vec<_>) = pairs.iter().partition(|(unit, _)| unit == "ns/op");
    for (unit, value) in first.into_iter().chain(others) {
        write!(out, " {value} {unit}")?;
    }
    writeln!(out)
}
