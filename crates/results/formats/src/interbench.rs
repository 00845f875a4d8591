//! The text of interbench: a table per simulated task, a row per load (`docs/exchange.md`).

use analysis::Direction::{LessIsBetter, MoreIsBetter};
use model::Environment;

use crate::dataset::{Imported, Options, Refusal, facts, measure};
use crate::measurement::{ForeignMeasurement, ForeignTrial, MeasurementOutcome};
use crate::results::ForeignResults;

/// The start of a table's heading, and the text between task and loads.
const TABLE: &str = "--- Benchmarking simulated cpu of ";
const UNDER: &str = "in the presence of simulated";
const SHARES: [&str; 2] = ["desired_cpu_percent", "deadlines_met_percent"];

const NOTES: [&str; 3] = [
    "interbench prints summaries: without the single delays there are ratios of means, but no \
     intervals and no tests, unless several runs were logged into one file",
    "what interbench 0.31 and older calls SD is nearly the root of the mean square: it is \
     above 0 where all delays are the same",
    "interbench measures in each run how fast a loop is (loops_per_ms) unless -l sets it: \
     another number is another load",
];

pub(super) fn is_heading(line: &str) -> bool {
    line.starts_with(TABLE)
}

/// Every row is a trial; the factors are task and load.
pub(super) fn read(text: &str, options: &Options) -> Imported {
    let mut found = ForeignResults::named_by(["task", "load"]);
    let mut environment = Environment::new();
    // The current table's task, and the unit of its delays.
    let mut table: Option<(String, Option<&str>)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(heading) = line.strip_prefix(TABLE) {
            table = Some((task(number, heading)?, None));
        } else if line.trim().is_empty() {
            table = None;
        } else if let Some((task, unit)) = &mut table {
            if line.split_whitespace().next() == Some("Load") {
                *unit = Some(self::unit(number, line)?);
                continue;
            }
            let (load, figures) =
                row(line, *unit).map_err(|reason| Refusal::line(number, reason))?;
            let identity = [("task", task.clone()), ("load", load.to_owned())];
            let mut trial = ForeignTrial::of_file(format!("line {number}"), identity, figures);
            trial.environment = environment.clone();
            trial.meaning = measure("interbench");
            found.trials.push(trial);
        } else {
            match line.strip_prefix("Comment: ") {
                Some(comment) => found.notes.push(format!("its comment: {comment}")),
                None => environment.extend(facts_of(line)),
            }
        }
    }
    if found.trials.is_empty() {
        return Err(Refusal::whole(format!("no row below a line {TABLE:?}")));
    }
    found.notes.extend(NOTES.map(str::to_owned));
    found.finish(options)
}

/// The task in a heading `X nice 5 in the presence of simulated nice 3 ---`.
fn task(number: usize, heading: &str) -> Result<String, Refusal> {
    let (task, loads) = heading
        .split_once(UNDER)
        .ok_or_else(|| Refusal::line(number, format!("the heading of a table lacks {UNDER:?}")))?;
    let loads = loads.trim().trim_end_matches('-').trim_end();
    let task = task.trim();
    Ok(if loads.is_empty() { task.to_owned() } else { format!("{task}, loads {loads}") })
}

fn unit(number: usize, line: &str) -> Result<&'static str, Refusal> {
    ["ms", "us"].into_iter().find(|unit| line.contains(&format!("({unit})"))).ok_or_else(|| {
        Refusal::line(number, "the heading names neither (ms) nor (us) as the unit of delays")
    })
}

fn row<'l>(
    line: &'l str,
    unit: Option<&str>,
) -> Result<(&'l str, Vec<ForeignMeasurement>), String> {
    let unit = unit.ok_or("a row before the heading of its table")?;
    // Mails have blanks for tabs, so names of loads are one word.
    let (load, figures) = line
        .split_once('\t')
        .or_else(|| line.trim_start().split_once(' '))
        .ok_or_else(|| format!("{line:?} has no tab after the name of a load"))?;
    let words: Vec<&str> = figures.split_whitespace().flat_map(apart).collect();
    let (mean, rest) = match words[..] {
        [mean, "+/-", ref rest @ ..] if (3..=4).contains(&rest.len()) => (mean, rest),
        _ => {
            return Err(format!(
                "{} words, where a row has mean, +/-, SD, longest, % of CPU and perhaps % of \
                 deadlines",
                words.len()
            ));
        }
    };
    let names = ["average", "sd", "high"].map(|name| format!("{name}_{unit}"));
    let names = names.into_iter().chain(SHARES.map(str::to_owned));
    let mut figures = Vec::new();
    for (name, word) in names.zip([&[mean], rest].concat()) {
        match word.parse::<f64>() {
            // printf's root of a negative number.
            Ok(value) if value.is_nan() => {}
            Ok(value) if value.is_finite() && value >= 0.0 => figures.push(figure(&name, value)),
            _ => return Err(format!("{name} is {word:?}, which is not a number from 0 on")),
        }
    }
    // Nothing ran, so there was no deadline to meet.
    let nothing_ran = |it: &ForeignMeasurement| {
        it.response == SHARES[0]
            && matches!(&it.outcome, MeasurementOutcome::Values(values) if values.iter().all(|it| it.value == 0.0))
    };
    if figures.iter().any(nothing_ran) {
        let lost = |it: ForeignMeasurement| {
            let why = "the task got no CPU time, so nothing was measured";
            ForeignMeasurement::failed(it.response, &it.unit, it.direction, why)
        };
        let (shares, others): (Vec<_>, Vec<_>) =
            figures.into_iter().partition(|it| it.response == SHARES[0]);
        figures = shares.into_iter().chain(others.into_iter().map(lost)).collect();
    }
    Ok((load, figures))
}

/// Splits two merged numbers, which `%-8.1f%6.1f` prints for large values.
fn apart(word: &str) -> Vec<&str> {
    let first = word.find('.').filter(|first| word[first + 1..].contains('.'));
    match first.and_then(|first| word.split_at_checked(first + 2)) {
        Some((first, second)) => vec![first, second],
        None => vec![word],
    }
}

fn figure(name: &str, value: f64) -> ForeignMeasurement {
    match name.ends_with("_percent") {
        true => ForeignMeasurement::figure(name, "%", MoreIsBetter, value),
        false => {
            let unit = name.rsplit('_').next().unwrap_or_default();
            ForeignMeasurement::figure(name, unit, LessIsBetter, value)
        }
    }
}

fn facts_of(line: &str) -> Environment {
    let between = |first: &str, last: &str| {
        let rest = line.split_once(first)?.1;
        Some(rest.split_once(last)?.0.trim().to_owned())
    };
    facts([
        ("interbench_processors", between("Load set to ", " processors")),
        ("interbench_loops_per_ms", between("Using ", " loops per ms")),
        ("interbench_seconds", between("every load for ", " seconds")),
        ("kernel", between("Benchmarking kernel ", " at datestamp")),
    ])
}
