//! The Go benchmark format of `go test -bench` and others
//! (<https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md>).
//!
//! A result is `BenchmarkName-8 iterations value unit [value unit …]`; `key: value` lines describe
//! the results below them. Other lines are noise by definition, and counted in the notes.

use std::collections::BTreeSet;

use itertools::Itertools;
use model::Environment;

use super::{Figure, Imported, Options, Refusal, add, response, varied};

const BENCHMARK: &str = "benchmark";
/// CPUs used, the number at the end of a name; a factor where it varies.
const PROCS: &str = "procs";
const PREFIX: &str = "Benchmark";
const OF_GO_TEST: [&str; 2] = ["PASS", "ok"];

struct Entry {
    name: String,
    benchmark: String,
    procs: String,
    figures: Vec<Figure>,
    environment: Environment,
}

/// Whether a line is a result: name, count, and at least one value with a unit.
pub(super) fn is_result(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(|name| name.starts_with(PREFIX))
        && words.next().is_some_and(|count| count.parse::<u64>().is_ok())
        && words.next().is_some_and(|value| value.parse::<f64>().is_ok())
        && words.next().is_some()
}

pub(super) fn read(text: &str, _: &Options) -> Imported {
    let mut environment = Environment::new();
    let mut entries = Vec::new();
    let mut others = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first() else { continue };
        if first.starts_with(PREFIX) && words.len() > 1 {
            entries.push(entry(index + 1, &words, &environment)?);
        } else if let Some((key, value)) = configuration(line) {
            // As in run files.
            let fact = if key == "cpu" { "cpu_model" } else { key };
            environment.insert(fact.to_owned(), value.to_owned());
        } else if !OF_GO_TEST.contains(first) && !first.starts_with(PREFIX) {
            others.push(index + 1);
        }
    }
    if entries.is_empty() {
        return Err(Refusal::whole("no line \"BenchmarkName count value unit\""));
    }
    let is_varied = entries.iter().any(|entry| entry.procs != entries[0].procs);
    let mut set = varied([BENCHMARK].into_iter().chain(is_varied.then_some(PROCS)));
    for Entry { name, benchmark, procs, figures, mut environment } in entries {
        if !is_varied {
            environment.insert(PROCS.to_owned(), procs.clone());
        }
        let procs = is_varied.then_some((PROCS, procs));
        let levels = [(BENCHMARK, benchmark)].into_iter().chain(procs);
        add(&mut set, name, levels, figures).environment = environment;
    }
    set.notes.push(
        "lines of one process unless several outputs were joined: variation between processes \
         may be unknown"
            .to_owned(),
    );
    if !others.is_empty() {
        set.notes.push(format!("no results and not read: lines {}", others.iter().join(", ")));
    }
    Ok(set)
}

fn configuration(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let fits = key.starts_with(char::is_lowercase)
        && !key.chars().any(|c| c.is_whitespace() || c.is_uppercase());
    fits.then_some((key, value.trim()))
}

fn entry(line: usize, words: &[&str], environment: &Environment) -> Result<Entry, Refusal> {
    let refused = |column: usize, reason: String| {
        Err(Refusal::cell(line, format!("word {}", column + 1), reason))
    };
    if words[1].parse::<u64>().is_err() {
        return refused(1, format!("{:?} is not a count of iterations", words[1]));
    }
    let mut figures: Vec<Figure> = Vec::new();
    for (index, pair) in words[2..].chunks(2).enumerate() {
        let column = 2 + 2 * index;
        let [value, unit] = pair else {
            return refused(column, format!("{:?} has no unit after it", pair[0]));
        };
        match value.parse::<f64>() {
            // Responses are named by their units.
            Ok(number) if number.is_finite() => {
                figures.push(((*unit).to_owned(), response(unit, unit.ends_with("/s")), number));
            }
            _ => return refused(column, format!("{value:?} is not a number")),
        }
    }
    let units: BTreeSet<&String> = figures.iter().map(|(unit, ..)| unit).collect();
    if figures.is_empty() || units.len() < figures.len() {
        let reason = "a result has pairs of value and unit, each unit once";
        return Err(Refusal::line(line, reason));
    }
    let name = words[0].trim_start_matches(PREFIX);
    let procs = name.rsplit_once('-').filter(|(_, procs)| procs.parse::<u32>().is_ok());
    let (benchmark, procs) = procs.unwrap_or((name, "1"));
    Ok(Entry {
        name: format!("line {line}"),
        benchmark: benchmark.to_owned(),
        procs: procs.to_owned(),
        figures,
        environment: environment.clone(),
    })
}
