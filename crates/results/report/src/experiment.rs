//! Datasets and experiments: plans, results by cell, causes of death, and A/A tests.

use std::collections::BTreeMap;

use analysis::{AgainstItself, Dataset, Factor, Standing, Trial, distinct, listed};
use itertools::Itertools;
use model::{DeathRecord, Line, Manifest, Observation, Run};
use render::{Block, Cell, Document, Table, Tone, Verdict, format};
use stats::{bounded_median, bounded_quantile};

use crate::comparison::observed_cell;
use crate::comparison_document;

/// The plan of an experiment: factors, aliased effects, and the order of the runs.
pub fn plan_document(manifest: &Manifest) -> Document<'_> {
    let factors = manifest.factors.iter();
    let factors = factors.map(|factor| [factor.name.clone(), factor.levels.join(", ")]);
    let mut document = Document::of(vec![Table::of("", ["factor", "levels"], factors).into()]);
    document.title.clone_from(&manifest.name);
    if !manifest.aliases.is_empty() {
        document.push("Confounded in this fraction:");
        document.push(Block::List(manifest.aliases.clone()));
    }
    let runs = manifest.runs.iter().map(|run| {
        [Cell::Count(u64::from(run.block) + 1), run.seed.into(), Cell::from(&run.run_id)]
    });
    let caption = format!("{} runs, in this order", manifest.runs.len());
    document.push(Table::of(caption, ["block", "seed", "run"], runs));
    document.with_data(manifest)
}

/// Number of runs, median and range for each response and combination of levels.
pub fn cells_document(dataset: &Dataset) -> Document<'_> {
    let mut document = Document::default().with_data(dataset);
    let varied = dataset.factors.iter().filter(|factor| factor.levels.len() > 1).collect_vec();
    let counts: Vec<usize> = varied.iter().map(|factor| factor.levels.len()).collect();
    let cells = stats::full_factorial(&counts);
    for (name, response) in &dataset.responses {
        let caption = match response.unit.as_str() {
            "" | "ns" => name.clone(),
            unit => format!("{name} ({unit})"),
        };
        let head = varied.iter().map(|factor| factor.name.as_str());
        let head = head.chain(["runs", "median", "least", "most", "failed"]);
        let rows =
            cells.iter().filter_map(|cell| row(dataset, (name, &response.unit), &varied, cell));
        let table = Table::of(caption, head, rows);
        document.blocks.extend((!table.rows.is_empty()).then_some(Block::Table(table)));
    }
    let problem = |it: &Trial| Some(format!("{}: {}", it.name, it.remark()?));
    let problems = dataset.trials.iter().filter_map(problem).collect_vec();
    if !problems.is_empty() {
        document.push("Runs that did not end as they should:");
        document.push(Block::List(problems));
    }
    document.push(Block::Notes(dataset.notes.clone()));
    document
}

/// A row of the table of a response, which is given by its name and unit.
fn row(
    dataset: &Dataset,
    (response, unit): (&str, &str),
    varied: &[&Factor],
    cell: &[usize],
) -> Option<Vec<Cell>> {
    let levels: Vec<(&String, &String)> =
        varied.iter().zip(cell).map(|(it, level)| (&it.name, &it.levels[*level])).collect();
    let is_of = |trial: &&Trial| {
        levels.iter().all(|(factor, level)| trial.levels.get(*factor) == Some(level))
    };
    let trials: Vec<&Trial> = dataset.trials.iter().filter(is_of).collect();
    // A run counts once, with the median of its samples.
    let counts = trials.iter().filter(|trial| trial.standing() == Standing::Counts);
    let values: Vec<Observation> =
        counts.filter_map(|trial| bounded_median(trial.samples(None, response)?)).collect();
    let failed = trials.iter().filter(|trial| trial.failed() == Some(true)).count();
    let mut row: Vec<Cell> = levels.iter().map(|(_, level)| Cell::parsed(level)).collect();
    row.push(trials.len().into());
    let quantile = |share: f64| observed_cell(bounded_quantile(&values, share).as_ref(), unit);
    row.extend([0.5, 0.0, 1.0].map(quantile));
    let failed = (failed > 0).then(|| format!("{failed} of {}", trials.len()));
    row.push(Cell::figure(failed));
    (!trials.is_empty()).then_some(row)
}

/// For each cause of death the runs, and the last kernel lines of the first one.
pub fn death_blocks(runs: &[Run]) -> Vec<Block> {
    let mut causes: BTreeMap<&str, (Vec<&str>, &DeathRecord)> = BTreeMap::new();
    for run in runs {
        let name = run.header.as_ref().map_or("a run", |header| header.run_id.as_str());
        for line in &run.lines {
            if let Line::Death(death) = line {
                causes.entry(&death.cause).or_insert((Vec::new(), death)).0.push(name);
            }
        }
    }
    let blocks = causes.into_iter().flat_map(|(cause, (names, DeathRecord { log, .. }))| {
        let text = format!("{} died: {cause}.", names.join(", "));
        if log.is_empty() {
            return vec![text.into()];
        }
        let last = format!(" The last {} lines of {}'s kernel:", log.len(), names[0]);
        let lines = log.iter().map(|line| format!("  {line}\n"));
        vec![(text + &last).into(), Block::Verbatim(lines.collect())]
    });
    blocks.collect()
}

/// The result of an A/A test: noise per cell, and the rate of false alarms.
pub fn against_itself_document(found: &AgainstItself) -> Document<'_> {
    let mut document = comparison_document(&found.comparison);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let floors = found.floors.iter().map(|floor| {
        let noise = floor.noise.map(|noise| format!("±{}", percent(noise)));
        [Cell::from(&floor.response), Cell::from(&floor.label), Cell::figure(noise)]
    });
    let caption = "Noise floor: differences smaller than these are not detected here";
    document.push(Table::of(caption, ["response", "cell", "noise"], floors));
    let AgainstItself { labellings, alarms, significant, .. } = found;
    let of = |count: u64| percent(count as f64 / (*labellings).max(1) as f64);
    document.push(format!(
        "With the arms exchanged at random within blocks ({labellings} ways), the verdict would \
         have been regression or improvement in {} of all cases, and a difference of any size \
         significant in {}.",
        of(*alarms),
        of(*significant)
    ));
    document.verdicts.insert(0, conclusion(found));
    document.with_data(found)
}

fn conclusion(found: &AgainstItself) -> Verdict {
    let cells = &found.comparison.cells;
    let is_exact = found.comparison.arms.iter().all(|arm| arm.deterministic);
    let (text, tone) = match (found.is_alarm(), is_exact) {
        _ if cells.is_empty() => ("Nothing was compared.", Tone::Plain),
        (true, _) => (
            "ALARM: the two arms are the same, and yet a difference was found. Do not trust a \
             comparison from here until the cause is known.",
            Tone::Bad,
        ),
        (false, true) => (
            "The subject is deterministic: equal inputs give equal bytes, and there is no noise to \
             measure.",
            Tone::Good,
        ),
        (false, false) => ("No alarm: identical arms were not called different.", Tone::Good),
    };
    Verdict { text: text.to_owned(), tone }
}

/// Factors, responses, a row per trial and part, and the notes.
pub fn dataset_document(set: &Dataset) -> Document<'_> {
    let factors = set.factors.iter().map(|it| [it.name.clone(), listed(&it.levels)]);
    let responses = set.responses.iter().map(|(name, response)| {
        let unit = (!response.unit.is_empty()).then_some(&response.unit);
        let better = response.direction.word();
        [Cell::from(name), unit.into(), better.into()]
    });
    let facts = set.trials.iter().flat_map(|trial| &trial.environment).sorted().dedup();
    let facts = facts.map(|(fact, value)| format!("{fact}: {value}"));
    let notes = facts.chain(set.notes.iter().map(|note| format!("Note: {note}.")));
    let blocks = vec![
        Table::of("", ["factor", "levels"], factors).into(),
        Table::of("", ["response", "unit", "better"], responses).into(),
        trials(set).into(),
        Block::Notes(notes.collect()),
    ];
    let title = format!("{}: {}", set.name, format::counted(set.trials.len(), "trial"));
    Document { title, ..Document::of(blocks) }.with_data(set)
}

fn trials(set: &Dataset) -> Table {
    let mut values = set.trials.iter().flat_map(|trial| &trial.values);
    let has_parts = values.any(|values| values.part.is_some());
    let has_problems = set.trials.iter().any(|trial| trial.remark().is_some());
    let mut table = Table::new("", ["trial"]);
    table.head.extend(set.factors.iter().map(|factor| factor.name.clone()));
    table.head.extend(has_parts.then(|| "part".to_owned()));
    table.head.extend(set.responses.keys().cloned());
    table.head.extend(has_problems.then(|| "problem".to_owned()));
    for trial in &set.trials {
        let parts = distinct(trial.values.iter().map(|values| values.part.as_deref()));
        for part in if parts.is_empty() { vec![None] } else { parts } {
            let level = |name: &String| trial.levels.get(name).map_or("", String::as_str);
            let mut row = vec![Cell::from(&trial.name)];
            row.extend(set.factors.iter().map(|factor| Cell::parsed(level(&factor.name))));
            row.extend(has_parts.then(|| Cell::from(part.unwrap_or("whole"))));
            row.extend(set.responses.keys().map(|response| figure(trial, part, response)));
            row.extend(trial.remark().filter(|_| has_problems).map(Cell::from));
            table.row(row);
        }
    }
    table
}

fn figure(trial: &Trial, part: Option<&str>, response: &str) -> Cell {
    let samples = trial.samples(part, response).unwrap_or_default();
    Cell::figure(stats::bounded_median(samples).map(|median| match samples.len() {
        1 => observed(&median),
        count => format!("{} (median of {count})", observed(&median)),
    }))
}

fn observed(observed: &Observation) -> String {
    format!("{}{}", observed.mark(), observed.value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use analysis::{Direction, Response, Trial, Values};
    use render::plain_text;

    use super::*;

    fn trial(system: &str, seed: u64, cpu_s: f64) -> Trial {
        Trial {
            name: format!("{system}-seed{seed}"),
            levels: BTreeMap::from([("system".to_owned(), system.to_owned())]),
            seed: Some(seed),
            values: vec![Values::exact(None, "cpu_s", &[cpu_s])],
            ..Trial::default()
        }
    }

    #[test]
    fn cells_stand_in_the_order_of_their_levels() {
        let response =
            Response { unit: "s".to_owned(), direction: Direction::LessIsBetter, additive: true };
        let dataset = Dataset {
            factors: vec![Factor {
                name: "system".to_owned(),
                levels: vec!["17.11".to_owned(), "18.9".to_owned()],
            }],
            responses: BTreeMap::from([("cpu_s".to_owned(), response)]),
            trials: vec![
                trial("18.9", 1, 212.0),
                trial("17.11", 1, 128.0),
                trial("17.11", 2, 0.125),
                Trial { problem: Some("interrupted".to_owned()), ..trial("18.9", 2, 191.0) },
            ],
            ..Dataset::default()
        };
        insta::assert_snapshot!(plain_text(&cells_document(&dataset)), @r"
        cpu_s (s)
        system  runs  median  least  most  failed
         17.11     2   64.06  0.125   128  -
          18.9     2   201.5    191   212  -

        Runs that did not end as they should:

        - 18.9-seed2: interrupted
        ");
    }

    #[test]
    fn delays_are_printed_with_their_unit() {
        let response =
            Response { unit: "ns".to_owned(), direction: Direction::LessIsBetter, additive: false };
        let values = vec![Values::exact(None, "delay_ns", &[2_215_255_532.0])];
        let dataset = Dataset {
            responses: BTreeMap::from([("delay_ns".to_owned(), response)]),
            trials: vec![Trial { values, ..Trial::default() }],
            ..Dataset::default()
        };
        let text = plain_text(&cells_document(&dataset));
        assert!(text.starts_with("delay_ns\n") && text.contains("2.22s"), "{text}");
    }

    #[test]
    fn a_cause_stands_once_with_the_log_of_its_first_run() {
        let run = |log: &[&str]| Run {
            lines: vec![Line::Death(Box::new(DeathRecord {
                at_ns: 1,
                cause: "BUG: x".to_owned(),
                log: log.iter().map(|line| (*line).to_owned()).collect(),
            }))],
            ..Run::default()
        };
        let blocks = death_blocks(&[run(&["RIP: f+0x1", "Call Trace:"]), run(&["other"])]);
        insta::assert_snapshot!(plain_text(&Document::of(blocks)), @r"
        a run, a run died: BUG: x. The last 2 lines of a run's kernel:

          RIP: f+0x1
          Call Trace:
        ");
        assert!(death_blocks(&[Run::default()]).is_empty());
    }
}
