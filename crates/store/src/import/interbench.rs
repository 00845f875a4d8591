//! The text that interbench prints and logs: a table for each task that it imitates, a row for
//! each load.
//!
//! A row has mean, deviation and longest of the delays, and shares of CPU and deadlines: figures
//! of which each is one. A log that several runs were added to has several rows of one task and
//! load, and these can be tested.

use analysis::{Dataset, Factor, Response, Trial, Values};
use model::Environment;

use super::{Refusal, figure};

/// What a table begins with, and what stands between task and loads in that line.
const TABLE: &str = "--- Benchmarking simulated cpu of ";
const UNDER: &str = "in the presence of simulated";
/// The columns behind the label: what stands in the row, our name of it without unit.
const SHARES: [&str; 2] = ["desired_cpu_percent", "deadlines_met_percent"];

/// The table that rows belong to.
#[derive(Clone, Debug, Default)]
struct Table {
    task: String,
    unit: Option<&'static str>,
}

/// Whether a text is of this form.
pub(super) fn is_output(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(TABLE))
}

/// Reads the output of interbench as observations; `name` is where it comes from. Every row is a
/// trial, the factors are the task and the load.
///
/// # Errors
/// When it has no row, or a row that is not whole; with the line.
pub fn dataset(name: &str, text: &str) -> Result<Dataset, Refusal> {
    let mut set = Dataset { name: name.to_owned(), ..Dataset::default() };
    let mut levels: [Vec<String>; 2] = Default::default();
    let mut environment = Environment::new();
    let mut table: Option<Table> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(heading) = line.strip_prefix(TABLE) {
            table = Some(Table { task: task(number, heading)?, unit: None });
        } else if let Some(table) = table.as_mut().filter(|_| line.starts_with("Load\t")) {
            table.unit = Some(unit(number, line)?);
        } else if line.trim().is_empty() {
            // A table ends in an empty line.
            table = None;
        } else if let Some(table) = &table {
            let (load, values) = row(number, line, table)?;
            for (list, level) in levels.iter_mut().zip([&table.task, &load]) {
                if !list.contains(level) {
                    list.push(level.clone());
                }
            }
            for value in &values {
                let meaning = response(&value.response);
                set.responses.entry(value.response.clone()).or_insert(meaning);
            }
            set.trials.push(Trial {
                name: format!("line {number}"),
                levels: [("task".to_owned(), table.task.clone()), ("load".to_owned(), load)].into(),
                values,
                environment: environment.clone(),
                meaning: [("measure".to_owned(), "interbench".to_owned())].into(),
                ..Trial::default()
            });
        } else {
            match line.strip_prefix("Comment: ") {
                Some(comment) => set.notes.push(format!("its comment: {comment}")),
                None => environment.extend(facts(line)),
            }
        }
    }
    if set.trials.is_empty() {
        return Err(Refusal::whole(format!("no row below a line {TABLE:?}")));
    }
    let [tasks, loads] = levels;
    set.factors = vec![
        Factor { name: "task".to_owned(), levels: tasks },
        Factor { name: "load".to_owned(), levels: loads },
    ];
    set.notes.extend([
        "interbench prints summaries: without the single delays there are ratios of means, but no \
         intervals and no tests, unless several runs were logged into one file"
            .to_owned(),
        "what interbench 0.31 and older calls SD is nearly the root of the mean square: it is \
         above 0 where all delays are the same"
            .to_owned(),
        "interbench finds out anew how fast a loop is (loops_per_ms) unless -l says it: another \
         number is another dose"
            .to_owned(),
    ]);
    Ok(set)
}

/// `X nice 5 in the presence of simulated nice 3 ---`: the task, with what makes it another one.
fn task(number: usize, heading: &str) -> Result<String, Refusal> {
    let (task, loads) = heading
        .split_once(UNDER)
        .ok_or_else(|| Refusal::line(number, format!("the heading of a table lacks {UNDER:?}")))?;
    let loads = loads.trim().trim_end_matches('-').trim_end();
    let task = task.trim();
    Ok(if loads.is_empty() { task.to_owned() } else { format!("{task}, loads {loads}") })
}

/// The unit of a table's delays.
fn unit(number: usize, line: &str) -> Result<&'static str, Refusal> {
    ["ms", "us"].into_iter().find(|unit| line.contains(&format!("({unit})"))).ok_or_else(|| {
        Refusal::line(number, "the heading names neither (ms) nor (us) as the unit of delays")
    })
}

/// The load of a row, and its figures.
fn row(number: usize, line: &str, table: &Table) -> Result<(String, Vec<Values>), Refusal> {
    let refused = |reason: String| Err(Refusal::line(number, reason));
    let Some(unit) = table.unit else {
        return refused("a row before the heading of its table".to_owned());
    };
    let Some((load, figures)) = line.split_once('\t') else {
        return refused(format!("{line:?} has no tab behind the name of a load"));
    };
    let words: Vec<&str> = figures.split_whitespace().flat_map(apart).collect();
    let (mean, rest) = match words[..] {
        [mean, "+/-", ref rest @ ..] if (3..=4).contains(&rest.len()) => (mean, rest),
        _ => {
            return refused(format!(
                "{} words, where a row has mean, +/-, SD, longest, % of CPU and perhaps % of \
                 deadlines",
                words.len()
            ));
        }
    };
    let names = ["average", "sd", "high"].map(|name| format!("{name}_{unit}"));
    let names = names.into_iter().chain(SHARES.map(str::to_owned));
    let mut values = Vec::new();
    for (name, word) in names.zip([&[mean], rest].concat()) {
        match word.parse::<f64>() {
            // What printf makes of the root of a number below 0.
            Ok(value) if value.is_nan() => {}
            Ok(value) if value.is_finite() && value >= 0.0 => {
                values.push(figure(None, &name, value));
            }
            _ => return refused(format!("{name} is {word:?}, which is no number from 0 on")),
        }
    }
    Ok((load.to_owned(), values))
}

/// Two numbers of one decimal that grew together, as `%-8.1f%6.1f` prints large ones.
fn apart(word: &str) -> Vec<&str> {
    let first = word.find('.').filter(|first| word[first + 1..].contains('.'));
    match first.and_then(|first| word.split_at_checked(first + 2)) {
        Some((first, second)) => vec![first, second],
        None => vec![word],
    }
}

fn response(name: &str) -> Response {
    let share = name.ends_with("_percent");
    let unit = if share { "%" } else { name.rsplit('_').next().unwrap_or_default() };
    Response { unit: unit.to_owned(), more_is_better: share, additive: false }
}

/// Facts in a line before the tables.
fn facts(line: &str) -> Vec<(String, String)> {
    let between = |first: &str, last: &str| {
        let rest = line.split_once(first)?.1;
        Some(rest.split_once(last)?.0.trim().to_owned())
    };
    [
        ("interbench_processors", between("Load set to ", " processors")),
        ("interbench_loops_per_ms", between("Using ", " loops per ms")),
        ("interbench_seconds", between("every load for ", " seconds")),
        ("kernel", between("Benchmarking kernel ", " at datestamp")),
    ]
    .into_iter()
    .filter_map(|(fact, value)| Some((fact.to_owned(), value?)))
    .collect()
}
