//! Copied and stray rows, which scanned tables contain.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use analysis::Dataset;
use itertools::Itertools;

use crate::dataset::Refusal;
use crate::table::Row;

const PART: &str = "";
/// Copies of fewer digits may be chance.
const LEAST_DIGITS: usize = 6;

/// The levels of a row except one factor.
type Rest = BTreeMap<String, String>;
/// The responses by the level of that factor.
type Texts<'a> = BTreeMap<String, &'a [(String, String)]>;

/// Refuses a trial that repeats another with equal levels, over all levels of a factor.
pub(super) fn refuse(rows: &[Row]) -> Result<(), Refusal> {
    let places: Vec<Rest> = rows.iter().map(place).collect();
    let names: BTreeSet<&String> = places.iter().flat_map(BTreeMap::keys).collect();
    for name in names {
        let mut trials: BTreeMap<(Rest, String), (usize, Texts)> = BTreeMap::new();
        for (row, place) in rows.iter().zip(&places) {
            let mut rest = place.clone();
            let level = rest.remove(name).unwrap_or_default();
            let trial = format!("{} {:?} {:?}", row.key.trial, row.key.block, row.key.seed);
            let entry = trials.entry((rest, trial)).or_insert_with(|| (row.line, BTreeMap::new()));
            entry.1.insert(level, &row.texts);
        }
        let mut first: BTreeMap<(&Rest, &Texts), usize> = BTreeMap::new();
        let mut in_order: Vec<_> = trials.iter().collect();
        in_order.sort_by_key(|(_, (line, _))| *line);
        for ((rest, _), (line, texts)) in in_order {
            if texts.len() < 2 || digits(texts) < LEAST_DIGITS {
                continue;
            }
            if let Some(original) = first.insert((rest, texts), *line) {
                return Err(copied(*line, original, name, texts));
            }
        }
    }
    Ok(())
}

fn place(row: &Row) -> Rest {
    let part = row.part.iter().map(|part| (PART.to_owned(), part.clone()));
    row.key.levels.clone().into_iter().chain(part).collect()
}

fn digits(texts: &Texts) -> usize {
    let cells = texts.values().copied().flatten();
    cells.map(|(_, cell)| cell.chars().filter(char::is_ascii_digit).count()).sum()
}

fn copied(line: usize, original: usize, name: &str, texts: &Texts) -> Refusal {
    let cells = texts.values().copied().flatten();
    let values = cells.map(|(_, cell)| cell).join(", ");
    let levels = if name == PART { "parts".to_owned() } else { format!("levels of {name}") };
    Refusal::line(
        line,
        format!(
            "the trial that begins here repeats the one of line {original} value for value over \
             all {levels} ({values}): a copied row would count one measurement twice; remove it, \
             or take it with --allow-repeats"
        ),
    )
}

/// Single levels among replicated ones, and one cell with a trial too many or too few.
pub(super) fn strays(set: &Dataset) -> Vec<String> {
    let mut notes = Vec::new();
    for factor in &set.factors {
        let count = |level: &String| {
            set.trials.iter().filter(|trial| trial.levels.get(&factor.name) == Some(level)).count()
        };
        let once: Vec<&String> = factor.levels.iter().filter(|level| count(level) == 1).collect();
        if let [level] = once[..]
            && factor.levels.len() > 1
        {
            notes.push(format!(
                "{} {level:?} has one trial, where the other levels have several: it may be a stray row",
                factor.name
            ));
        }
    }
    let cells = set.trials.iter().map(|trial| &trial.levels).counts();
    let combinations: usize = set.factors.iter().map(|factor| factor.levels.len()).product();
    if cells.len() < combinations {
        notes.push(format!(
            "{} of the {combinations} combinations of levels have no trial",
            combinations - cells.len()
        ));
    }
    notes.extend(odd_cell(&cells).filter(|_| notes.is_empty()));
    notes
}

/// The one cell of at least three whose count is off by one.
fn odd_cell(cells: &HashMap<&BTreeMap<String, String>, usize>) -> Option<String> {
    let sizes = cells.values().copied().counts().into_iter().sorted().collect_vec();
    let (common, _) = sizes.iter().find(|(_, cells)| *cells > 1)?;
    let (odd, _) = sizes.iter().find(|(size, cells)| *cells == 1 && size.abs_diff(*common) == 1)?;
    let (levels, _) = cells.iter().find(|(_, count)| *count == odd).filter(|_| sizes.len() == 2)?;
    let levels = levels.iter().map(|(name, level)| format!("{name} {level}")).join(", ");
    Some(format!("unbalanced by one row: {levels} has {odd} trials, all others {common}"))
}
