//! Comma-separated values with a heading row.
//!
//! - A column whose name ends in a unit (`cpu_s`, `page_faults`, `rate_per_s`) was measured, as was
//!   one that the caller names; its cells are numbers, and an empty cell was not published.
//! - `trial`, `block` and `seed` mean that; `command` or `part` is the part of the trial that the
//!   row belongs to, so that the rows of equal levels and equal trial form one trial.
//! - Every other column was varied; its levels stand in the order in which they appear.
//!
//! Old tables reach us through scanners. A heading that is a number, a cell that is none, and a
//! trial that is a copy of another one are refused, since each would count something that nobody
//! measured.

use std::collections::BTreeMap;

use ::csv::{ReaderBuilder, StringRecord, Trim};
use analysis::{Dataset, Factor, Response, Trial, Values};

use super::row::{Key, Row};
use super::{Options, Refusal, repeats};

/// Endings of the names of columns that were measured; a name may also be the ending alone.
const UNITS: [&str; 6] = ["s", "ms", "us", "ns", "faults", "bytes"];
/// Ending of the names of rates, of which more is better.
const RATE: &str = "per_s";

/// What a column means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    Trial,
    Block,
    Seed,
    Part,
    Factor,
    Response,
}

/// A column: its name and what it means.
#[derive(Clone, Debug)]
struct Column {
    name: String,
    meaning: Meaning,
}

/// Reads a CSV as observations; `name` is where it comes from.
///
/// # Errors
/// When the heading or a cell cannot be what it should, when rows are missing or repeated; with
/// line and column.
pub fn dataset(name: &str, text: &str, options: &Options) -> Result<Dataset, Refusal> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
    let heading = reader.headers().map_err(|error| refusal(&error))?.clone();
    let columns = columns(&heading, options)?;
    let mut rows: Vec<Row> = Vec::new();
    let mut seen: BTreeMap<(BTreeMap<String, String>, Option<String>), usize> = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| refusal(&error))?;
        let mut row = row(&columns, &record)?;
        let count = seen.entry((row.levels.clone(), row.part.clone())).or_insert(0);
        *count += 1;
        if row.trial.is_empty() {
            row.trial = count.to_string();
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(Refusal::whole("a heading row and no other: there is nothing to compare"));
    }
    refuse_second_rows(&rows)?;
    if !options.allow_repeats {
        repeats::refuse(&rows)?;
    }
    Ok(build(name, &columns, &rows))
}

fn refusal(error: &::csv::Error) -> Refusal {
    let line = error.position().map(|position| position.line() as usize);
    match error.kind() {
        ::csv::ErrorKind::UnequalLengths { expected_len, len, .. } => Refusal {
            line,
            column: None,
            reason: format!("{len} cells, where the heading has {expected_len}"),
        },
        ::csv::ErrorKind::Utf8 { .. } => {
            Refusal { line, column: None, reason: "not UTF-8".to_owned() }
        }
        _ => Refusal { line, column: None, reason: error.to_string() },
    }
}

/// The columns of a heading.
fn columns(heading: &StringRecord, options: &Options) -> Result<Vec<Column>, Refusal> {
    let mut columns: Vec<Column> = Vec::new();
    for (index, name) in heading.iter().enumerate() {
        let refused = |reason: String| Err(Refusal::cell(1, (index + 1).to_string(), reason));
        if name.is_empty() {
            return refused("the heading has no name here".to_owned());
        }
        if name.parse::<f64>().is_ok() {
            return refused(format!(
                "the heading is the number {name:?}: the heading row is missing, or is what is \
                 left of another row"
            ));
        }
        if columns.iter().any(|column| column.name == name) {
            return refused(format!("a second column {name:?}"));
        }
        let meaning = match name.to_ascii_lowercase().as_str() {
            _ if options.factors.iter().any(|factor| factor == name) => Meaning::Factor,
            _ if options.responses.iter().any(|response| response == name) => Meaning::Response,
            "trial" => Meaning::Trial,
            "block" => Meaning::Block,
            "seed" => Meaning::Seed,
            "command" | "part" => Meaning::Part,
            other if unit(other).is_some() => Meaning::Response,
            _ => Meaning::Factor,
        };
        columns.push(Column { name: name.to_owned(), meaning });
    }
    let unknown = options.responses.iter().find(|name| !heading.iter().any(|cell| cell == *name));
    if let Some(name) = unknown {
        let names: Vec<&str> = heading.iter().collect();
        let names = names.join(", ");
        return Err(Refusal::line(1, format!("no column {name:?}; there are {names}")));
    }
    for once in [Meaning::Part, Meaning::Response] {
        let count = columns.iter().filter(|column| column.meaning == once).count();
        if once == Meaning::Part && count > 1 {
            return Err(Refusal::line(1, "both \"command\" and \"part\": which is the part?"));
        }
        if once == Meaning::Response && count == 0 {
            let reason = "no column was measured: the name of one must end in a unit (_s, _ms, \
                          _us, _ns, _faults, _bytes, _per_s), or name it with --response";
            return Err(Refusal::line(1, reason));
        }
    }
    Ok(columns)
}

/// The unit that ends a name.
fn unit(name: &str) -> Option<&'static str> {
    let ends = |ending: &str| {
        name.strip_suffix(ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
    };
    if ends(RATE) {
        return Some("/s");
    }
    UNITS.into_iter().find(|unit| ends(unit))
}

/// What a response is, from its name.
pub(super) fn response(name: &str) -> Response {
    let lower = name.to_ascii_lowercase();
    let unit = unit(&lower).unwrap_or_default();
    Response {
        unit: unit.to_owned(),
        more_is_better: unit == "/s",
        additive: unit == "faults" || lower.starts_with("cpu_"),
    }
}

fn row(columns: &[Column], record: &StringRecord) -> Result<Row, Refusal> {
    let line = record.position().map_or(0, |position| position.line() as usize);
    let mut row = Row {
        line,
        levels: BTreeMap::new(),
        trial: String::new(),
        part: None,
        texts: BTreeMap::new(),
        block: None,
        seed: None,
        values: Vec::new(),
    };
    for (index, (column, cell)) in columns.iter().zip(record).enumerate() {
        let refused = |reason: String| {
            Err(Refusal::cell(line, format!("{} ({})", index + 1, column.name), reason))
        };
        if cell.is_empty() && column.meaning != Meaning::Response {
            return refused("an empty cell; only what was measured may be missing".to_owned());
        }
        match column.meaning {
            Meaning::Trial => row.trial = cell.to_owned(),
            Meaning::Part => row.part = Some(cell.to_owned()),
            Meaning::Factor => {
                row.levels.insert(column.name.clone(), cell.to_owned());
            }
            Meaning::Block | Meaning::Seed => {
                let Ok(number) = cell.parse() else {
                    return refused(format!("{cell:?} is not a whole number"));
                };
                let place =
                    if column.meaning == Meaning::Block { &mut row.block } else { &mut row.seed };
                *place = Some(number);
            }
            Meaning::Response => {
                row.texts.insert(column.name.clone(), cell.to_owned());
                if cell.is_empty() {
                    continue;
                }
                match cell.parse::<f64>() {
                    Ok(value) if value.is_finite() => row.values.push((column.name.clone(), value)),
                    _ => {
                        return refused(format!(
                            "{cell:?} is not a number, which {} must be; leave a cell empty that \
                             was not published",
                            column.name
                        ));
                    }
                }
            }
        }
    }
    Ok(row)
}

/// Refuses two rows of one trial and one part.
fn refuse_second_rows(rows: &[Row]) -> Result<(), Refusal> {
    let mut first: BTreeMap<(Key, Option<&str>), usize> = BTreeMap::new();
    for row in rows {
        if let Some(line) = first.insert((row.key(), row.part.as_deref()), row.line) {
            let reason = format!(
                "a second row of trial {} with the same levels (the first is line {line}): one \
                 measurement would count twice",
                row.trial
            );
            return Err(Refusal::line(row.line, reason));
        }
    }
    Ok(())
}

fn build(name: &str, columns: &[Column], rows: &[Row]) -> Dataset {
    let of = |meaning: Meaning| columns.iter().filter(move |column| column.meaning == meaning);
    let factors: Vec<Factor> = of(Meaning::Factor)
        .map(|column| {
            let mut levels: Vec<String> = Vec::new();
            for level in rows.iter().filter_map(|row| row.levels.get(&column.name)) {
                if !levels.contains(level) {
                    levels.push(level.clone());
                }
            }
            Factor { name: column.name.clone(), levels }
        })
        .collect();
    let responses: BTreeMap<String, Response> =
        of(Meaning::Response).map(|column| (column.name.clone(), response(&column.name))).collect();
    let mut order: Vec<Key> = Vec::new();
    let mut trials: BTreeMap<Key, Trial> = BTreeMap::new();
    for row in rows {
        let key = row.key();
        let trial = trials.entry(key.clone()).or_insert_with(|| {
            order.push(key);
            Trial {
                name: format!("trial {}, line {}", row.trial, row.line),
                levels: row.levels.clone(),
                block: row.block,
                seed: row.seed,
                ..Trial::default()
            }
        });
        trial.values.extend(
            row.values
                .iter()
                .map(|(response, value)| Values::exact(row.part.clone(), response, &[*value])),
        );
    }
    let trials = order.into_iter().filter_map(|key| trials.remove(&key)).collect();
    let mut set = Dataset {
        name: name.to_owned(),
        factors,
        responses,
        trials,
        deterministic: false,
        notes: Vec::new(),
        wanted: Vec::new(),
    };
    add_wholes(&mut set, rows);
    set.notes.extend(empty_cells(rows));
    set.notes.extend(repeats::strays(&set));
    set
}

/// Gives every trial that has all parts the sum of them as its whole, where parts add up.
fn add_wholes(set: &mut Dataset, rows: &[Row]) {
    let mut parts: Vec<&str> = rows.iter().filter_map(|row| row.part.as_deref()).collect();
    parts.sort_unstable();
    parts.dedup();
    if parts.is_empty() {
        return;
    }
    let additive = set.responses.iter().filter(|(_, response)| response.additive);
    let names: Vec<&String> = additive.map(|(name, _)| name).collect();
    for trial in &mut set.trials {
        for name in &names {
            let sum: Option<f64> = parts
                .iter()
                .map(|part| {
                    Some(trial.samples(Some(part), name)?.iter().map(|it| it.value).sum::<f64>())
                })
                .sum();
            trial.values.extend(sum.map(|sum| Values::exact(None, name, &[sum])));
        }
    }
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    if !names.is_empty() {
        set.notes.push(format!(
            "{}: the whole is the sum of the {} parts, of the trials that have all of them",
            names.join(", "),
            parts.len()
        ));
    }
}

/// How many cells were not published.
fn empty_cells(rows: &[Row]) -> Option<String> {
    let lines: Vec<String> = rows
        .iter()
        .flat_map(|row| {
            row.texts
                .iter()
                .filter(|(_, text)| text.is_empty())
                .map(|(name, _)| format!("{name} in line {}", row.line))
        })
        .collect();
    (!lines.is_empty()).then(|| format!("not published: {}", lines.join(", ")))
}
