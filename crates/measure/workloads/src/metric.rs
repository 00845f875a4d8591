//! Figures that a command of the user prints: how they are found in its output, and their names.

use model::CommandSpec;
use regex_lite::Regex;

/// Names of responses that thrashlab measures itself.
const RESERVED: [&str; 4] = ["elapsed_ns", "cpu_ns", "faults", "major_faults"];
/// Longest name, in characters.
const LONGEST_NAME: usize = 40;
/// Most figures of a command.
const MOST: usize = 16;
/// Units of time with their length in ns.
const TIMES: [(&str, f64); 12] = [
    ("ns", 1.0),
    ("nsec", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("usec", 1e3),
    ("ms", 1e6),
    ("msec", 1e6),
    ("s", 1e9),
    ("sec", 1e9),
    ("seconds", 1e9),
    ("m", 60e9),
    ("min", 60e9),
];
/// Endings of the names of times and rates.
const NS: &str = "_ns";
const PER_S: &str = "_per_s";
/// What shows in a name that more is better.
const RATES: [&str; 7] = ["tps", "qps", "rps", "iops", "ops", "throughput", "rate"];

/// A figure in the output of a command.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its name, which ends in its unit: `_ns` for times, `_per_s` for rates, of which more is better.
    pub name: String,
    pattern: Regex,
    /// What a number without a unit is multiplied by.
    factor: f64,
}

/// The figures that a job looks for, one regular expression a line. Fails for a bad expression, one
/// without exactly one group, and names that are taken.
pub fn metrics(job: &CommandSpec) -> Result<Vec<Metric>, String> {
    let mut all: Vec<Metric> = Vec::new();
    for line in job.metrics().lines().filter(|line| !line.trim().is_empty()) {
        let metric = Metric::new(line).map_err(|why| format!("command.metric: {line:?}: {why}"))?;
        let is_taken = RESERVED.contains(&metric.name.as_str())
            || all.iter().any(|other| other.name == metric.name);
        if is_taken {
            let (name, next) = (&metric.name, "name another one: (?<NAME>…)");
            return Err(format!("command.metric: {line:?}: {name} is taken; {next}"));
        }
        all.push(metric);
    }
    match all.len() > MOST {
        true => Err(format!("command.metric: {} figures; at most {MOST} are kept", all.len())),
        false => Ok(all),
    }
}

impl Metric {
    fn new(text: &str) -> Result<Self, String> {
        let pattern = Regex::new(text).map_err(|error| error.to_string())?;
        if pattern.captures_len() != 2 {
            let groups = pattern.captures_len() - 1;
            return Err(format!(
                "it has {groups} groups, and one has to be the number: 'p99: ([0-9.]+) ms'; a \
                 further one is written (?:…)"
            ));
        }
        let named = pattern.capture_names().flatten().next();
        let (before, after) = around_group(text);
        let (stem, ending, factor) = match named {
            Some(name) => of_name(name),
            None => of_text(&before, &after),
        };
        let most = LONGEST_NAME - ending.len();
        let name: String = stem.chars().take(most).chain(ending.chars()).collect();
        match name.chars().any(char::is_alphabetic) {
            true => Ok(Self { name, pattern, factor }),
            false => Err("it has no name: write (?<NAME>[0-9.]+)".to_owned()),
        }
    }

    /// The figure in an output: the last match that is a number, with a unit of time or without.
    pub fn find(&self, output: &str) -> Option<f64> {
        let found = self.pattern.captures_iter(output).filter_map(|it| Some(it.get(1)?.as_str()));
        found.filter_map(|text| self.value(text)).last()
    }

    fn value(&self, text: &str) -> Option<f64> {
        let text = text.trim();
        let is_of_number = |letter: char| letter.is_ascii_digit() || ".-+,eE".contains(letter);
        let end = text.find(|letter| !is_of_number(letter)).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let number: f64 = number.replace(',', "").parse().ok().filter(|it: &f64| it.is_finite())?;
        match unit.trim() {
            "" => Some(number * self.factor),
            unit => Some(number * time_ns(unit).filter(|_| self.name.ends_with("_ns"))?),
        }
        .filter(|figure| figure.is_finite())
    }
}

fn time_ns(unit: &str) -> Option<f64> {
    TIMES.iter().find(|(name, _)| *name == unit).map(|(_, ns)| *ns)
}

/// The stem of a name, its ending if that is a unit, and a factor: times are kept in ns.
fn of_name(name: &str) -> (String, &'static str, f64) {
    if let Some(stem) = name.strip_suffix(PER_S) {
        return (stem.to_owned(), PER_S, 1.0);
    }
    match name.rsplit_once('_').and_then(|(stem, unit)| Some((stem, time_ns(unit)?))) {
        Some((stem, ns)) => (stem.to_owned(), NS, ns),
        None => (name.to_owned(), "", 1.0),
    }
}

/// A name from the literal text before and after the number, as [`of_name`].
fn of_text(before: &str, after: &str) -> (String, &'static str, f64) {
    let both = format!("{before} {after}").to_lowercase();
    let lower =
        before.to_lowercase().replace("/sec", " ").replace("/s", " ").replace("per second", " ");
    let stem = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|it| !it.is_empty());
    let stem = stem.collect::<Vec<_>>().join("_");
    let is_per_second = |(at, _): (usize, &str)| {
        let word = both[at + 1..].split(|letter: char| !letter.is_alphabetic()).next();
        matches!(word, Some("s" | "sec" | "second"))
    };
    let is_rate = both.match_indices('/').any(is_per_second)
        || both.contains("per second")
        || stem.split('_').any(|word| RATES.contains(&word));
    let unit: String = after.trim().chars().take_while(|it| it.is_alphabetic()).collect();
    match time_ns(&unit) {
        Some(ns) => (stem, NS, ns),
        None if is_rate => (stem, PER_S, 1.0),
        None => (stem, "", 1.0),
    }
}

/// The literal text before and after the group of an expression: escapes stand for blanks.
fn around_group(text: &str) -> (String, String) {
    let (mut before, mut after, mut depth, mut seen) = (String::new(), String::new(), 0, false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let literal = match letter {
            '\\' => match letters.next() {
                Some(escaped) if !escaped.is_alphanumeric() => escaped,
                _ => ' ',
            },
            '(' => {
                (depth, seen) = (depth + 1, true);
                continue;
            }
            ')' => {
                depth -= 1;
                continue;
            }
            '*' | '+' | '?' | '^' | '$' | '.' | '[' | ']' | '|' => ' ',
            other => other,
        };
        match (depth, seen) {
            (0, false) => before.push(literal),
            (0, true) => after.push(literal),
            _ => {}
        }
    }
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::COMMAND;
    use proptest::prelude::*;

    fn found(pattern: &str, output: &str) -> (String, Option<f64>) {
        let metric = Metric::new(pattern).unwrap();
        let figure = metric.find(output);
        (metric.name, figure)
    }

    #[test]
    fn a_figure_has_the_name_and_unit_of_the_text_around_it() {
        for (pattern, output, name, figure) in [
            ("p99: ([0-9.]+) ms", "p50: 1 ms\np99: 4.5 ms\n", "p99_ns", 4.5e6),
            (
                r"latency average = ([0-9.]+) ms",
                "latency average = 2 ms",
                "latency_average_ns",
                2e6,
            ),
            (r"tps = ([0-9.]+)", "tps = 100.5 (x)\ntps = 99 (y)", "tps_per_s", 99.0),
            (r"Requests/sec:\s+([0-9.]+)", "Requests/sec:  1234.5", "requests_per_s", 1234.5),
            (r"99%\s+([0-9.]+[a-z]+)", "99%   12.5ms", "99", f64::NAN),
            (r"99%\s+(?<p99_s>[0-9.]+[a-z]+)", "99%   12.5ms", "p99_ns", 12.5e6),
            (r"(?<heap_bytes>[0-9,]+) used", "1,024 used", "heap_bytes", 1024.0),
            (r"(?<jobs_per_s>[0-9]+)", "7", "jobs_per_s", 7.0),
            (r"step: ([0-9.]+) ms/step", "step: 3 ms/step", "step_ns", 3e6),
            (
                r"Read ops latency: ([0-9.]+) ms",
                "Read ops latency: 2 ms",
                "read_ops_latency_ns",
                2e6,
            ),
            (
                "Total number of transactions per second for clients: ([0-9.]+)",
                "Total number of transactions per second for clients: 5",
                "total_number_of_transactions_for_c_per_s",
                5.0,
            ),
        ] {
            match Metric::new(pattern) {
                Err(why) => assert!(figure.is_nan() && why.contains("NAME"), "{pattern}: {why}"),
                Ok(_) => assert_eq!(found(pattern, output), (name.to_owned(), Some(figure))),
            }
        }
        assert_eq!(found("p99: ([0-9.]+) ms", "none"), ("p99_ns".to_owned(), None));
    }

    #[test]
    fn expressions_without_one_number_and_taken_names_are_refused() {
        for (pattern, why) in [
            ("p99", "0 groups"),
            ("(a) (b)", "2 groups"),
            ("([0-9]+)", "no name"),
            ("x (", "regex"),
            ("elapsed: ([0-9]+) ns", "taken"),
            ("a: ([0-9]+)\na = ([0-9]+)", "taken"),
        ] {
            let mut job = COMMAND.spec();
            COMMAND.set(&mut job, "metric", pattern).unwrap();
            let error = metrics(&CommandSpec::new(job)).unwrap_err();
            assert!(error.contains(why) || why == "regex", "{pattern}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(pattern in "[^\\x00]{0,40}", output in ".{0,80}") {
            if let Ok(metric) = Metric::new(&pattern) {
                prop_assert!(!metric.name.is_empty() && metric.name.chars().count() <= LONGEST_NAME);
                let _ = metric.find(&output);
            }
        }
    }
}
