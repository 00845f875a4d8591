//! Comma-separated values; column names imply their meaning (`docs/comparing.md`).
//!
//! Old tables are scanned. Numeric headings, non-numeric cells and copied trials are refused,
//! since each would count a value that was never measured.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use analysis::{Dataset, Direction, Response, Values, listed};

use crate::dataset::{Imported, Looks, Options, Refusal, add, varied};
use crate::observed;
use crate::repeats;
use crate::resp1::clean;
use crate::table::{Key, Row};
use curves::{Table, ends_in};

/// Suffixes of measured columns; a name may be just the suffix.
const UNITS: [&str; 6] = ["s", "ms", "us", "ns", "faults", "bytes"];
const RATE: &str = "per_s";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Trial,
    Block,
    Seed,
    Part,
    Factor,
    Response,
}

pub(crate) fn looks_right(looks: &Looks) -> bool {
    looks.json.is_none() && looks.text.lines().next().is_some_and(|it| it.contains(','))
}

pub(crate) fn read(text: &str, options: &Options) -> Imported {
    let table = Table::read(&without_controls(text))?;
    if observed::is_of_observations(&table) {
        return observed::read(&table, options);
    }
    let meanings = meanings(&table, options)?;
    let mut rows: Vec<Row> = Vec::new();
    let mut seen: BTreeMap<(BTreeMap<String, String>, Option<String>), usize> = BTreeMap::new();
    for (line, cells) in &table.rows {
        let mut row = row(&table, &meanings, *line, cells)?;
        let count = seen.entry((row.key.levels.clone(), row.part.clone())).or_insert(0);
        *count += 1;
        if row.key.trial.is_empty() {
            row.key.trial = count.to_string();
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
    Ok(build(&table, &meanings, &rows))
}

/// A text without escape sequences and control characters, which scripts and terminals leave.
fn without_controls(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && !"\n\r\t".contains(c);
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').map(clean);
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

fn meanings(table: &Table, options: &Options) -> Result<Vec<Meaning>, Refusal> {
    let mut meanings = Vec::new();
    for (index, name) in table.names.iter().enumerate() {
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
        if table.names[..index].contains(name) {
            return refused(format!("a second column {name:?}"));
        }
        meanings.push(match name.to_ascii_lowercase().as_str() {
            _ if options.factors.contains(name) => Meaning::Factor,
            _ if options.responses.contains(name) => Meaning::Response,
            "trial" => Meaning::Trial,
            "block" => Meaning::Block,
            "seed" => Meaning::Seed,
            "command" | "part" => Meaning::Part,
            other if unit(other).is_some() => Meaning::Response,
            _ => Meaning::Factor,
        });
    }
    options.responses.iter().try_for_each(|name| table.column(name).map(drop))?;
    let count = |meaning| meanings.iter().filter(|it| **it == meaning).count();
    if count(Meaning::Part) > 1 {
        return Err(Refusal::line(1, "both \"command\" and \"part\": which is the part?"));
    }
    if count(Meaning::Response) == 0 {
        let reason = "no column was measured: the name of one must end in a unit (_s, _ms, \
                      _us, _ns, _faults, _bytes, _per_s), or name it with --response";
        return Err(Refusal::line(1, reason));
    }
    Ok(meanings)
}

fn unit(name: &str) -> Option<&'static str> {
    match [RATE].into_iter().chain(UNITS).find(|unit| ends_in(name, unit)) {
        Some(RATE) => Some("/s"),
        unit => unit,
    }
}

fn response(name: &str) -> Response {
    let lower = name.to_ascii_lowercase();
    let unit = unit(&lower).unwrap_or_default();
    let direction = match unit {
        "" => Direction::Unknown,
        "/s" => Direction::MoreIsBetter,
        _ => Direction::LessIsBetter,
    };
    let additive = unit == "faults" || lower.starts_with("cpu_");
    Response { unit: unit.to_owned(), direction, additive }
}

fn row(table: &Table, meanings: &[Meaning], line: usize, cells: &[String]) -> Result<Row, Refusal> {
    let mut row = Row { line, ..Row::default() };
    for (index, (meaning, cell)) in meanings.iter().zip(cells).enumerate() {
        let (name, cell) = (table.names[index].clone(), cell.clone());
        let refused = |reason: String| table.refused(line, index, reason);
        let number = |cell: String| {
            let number = cell.parse().map(Some);
            number.map_err(|_| refused(format!("{cell:?} is not a whole number")))
        };
        match meaning {
            Meaning::Response => {
                let is_number = cell.parse().is_ok_and(f64::is_finite);
                if !is_number && !cell.is_empty() {
                    return Err(refused(format!(
                        "{cell:?} is not a number, which {name} must be; leave a cell empty that \
                         was not published"
                    )));
                }
                row.texts.push((name, cell));
            }
            _ if cell.is_empty() => {
                let reason = "an empty cell; only what was measured may be missing";
                return Err(refused(reason.to_owned()));
            }
            Meaning::Trial => row.key.trial = cell,
            Meaning::Part => row.part = Some(cell),
            Meaning::Factor => drop(row.key.levels.insert(name, cell)),
            Meaning::Block => row.key.block = number(cell)?,
            Meaning::Seed => row.key.seed = number(cell)?,
        }
    }
    Ok(row)
}

fn refuse_second_rows(rows: &[Row]) -> Result<(), Refusal> {
    let mut first: BTreeMap<(&Key, &Option<String>), usize> = BTreeMap::new();
    for row in rows {
        if let Some(line) = first.insert((&row.key, &row.part), row.line) {
            let reason = format!(
                "a second row of trial {} with the same levels (the first is line {line}): one \
                 measurement would count twice",
                row.key.trial
            );
            return Err(Refusal::line(row.line, reason));
        }
    }
    Ok(())
}

fn build(table: &Table, meanings: &[Meaning], rows: &[Row]) -> Dataset {
    let of = |meaning: Meaning| {
        let columns = table.names.iter().zip(meanings);
        columns.filter(move |(_, it)| **it == meaning).map(|(name, _)| name.as_str())
    };
    let mut set = varied(of(Meaning::Factor));
    set.responses = of(Meaning::Response).map(|name| (name.to_owned(), response(name))).collect();
    let mut places: BTreeMap<&Key, usize> = BTreeMap::new();
    for Row { line, key, part, texts } in rows {
        let place = *places.entry(key).or_insert_with(|| {
            let levels = key.levels.iter().map(|(factor, level)| (factor.as_str(), level.clone()));
            let trial = add(&mut set, format!("trial {}, line {line}", key.trial), levels);
            (trial.block, trial.seed) = (key.block, key.seed);
            set.trials.len() - 1
        });
        let values = texts.iter().filter_map(|(name, text)| Some((name, text.parse().ok()?)));
        let values = values.map(|(name, value)| Values::exact(part.clone(), name, &[value]));
        set.trials[place].values.extend(values);
    }
    add_wholes(&mut set, rows);
    let empty = rows.iter().flat_map(|row| {
        let empty = row.texts.iter().filter(|(_, text)| text.is_empty());
        empty.map(|(name, _)| format!("{name} in line {}", row.line))
    });
    let empty: Vec<String> = empty.collect();
    if !empty.is_empty() {
        set.notes.push(format!("not published: {}", listed(&empty)));
    }
    set.notes.extend(repeats::strays(&set));
    set
}

/// Adds the sum as the whole to every trial that has all parts, where parts add up.
fn add_wholes(set: &mut Dataset, rows: &[Row]) {
    let parts: BTreeSet<&str> = rows.iter().filter_map(|row| row.part.as_deref()).collect();
    if parts.is_empty() {
        return;
    }
    let additive = set.responses.iter().filter(|(_, response)| response.additive);
    let names: Vec<&String> = additive.map(|(name, _)| name).collect();
    for trial in &mut set.trials {
        for name in &names {
            let of_part = |part| Some(trial.samples(Some(part), name)?.iter().map(|it| it.value));
            let sums = parts.iter().map(|part| of_part(part).map(Iterator::sum::<f64>));
            let sum: Option<f64> = sums.sum();
            trial.values.extend(sum.map(|sum| Values::exact(None, name, &[sum])));
        }
    }
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    if !names.is_empty() {
        set.notes.push(format!(
            "{}: the whole is the sum of the {} parts, of the trials that have all of them",
            listed(&names),
            parts.len()
        ));
    }
}
