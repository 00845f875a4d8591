//! Freezes as a document: who freezes how long under which policy, and the lists of both.

mod advice;
mod front;
mod sentences;
mod table;

use analysis::freeze::{FreezeRanking, FreezeSuiteRuns};
use render::{Block, Document, Section, Table, Verdict, format};
use serde::Serialize;

pub use advice::{AdviceView, freeze_advice_document};
use front::front_chart;
use sentences::{conclusion, legend, of_reference, reading};
use table::{details_table, matrix_table, one_scenario_table};

/// Most kernels on one screen.
const MOST_KERNELS: usize = 2;

/// The unrounded figures of a document.
#[derive(Serialize)]
struct Figures<'a> {
    #[serde(flatten)]
    runs: &'a FreezeSuiteRuns,
    /// The policies on each kernel, the best first; policies by index.
    rankings: Vec<FreezeRanking>,
    command: &'a str,
    interrupted: bool,
}

/// What the scenarios and policies show. `command` repeats it; an interrupted suite has only what is
/// known so far.
pub fn freeze_document<'a>(
    runs: &'a FreezeSuiteRuns,
    command: &'a str,
    interrupted: bool,
) -> Document<'a> {
    let rankings: Vec<(&String, FreezeRanking)> =
        runs.kernels.iter().map(|kernel| (kernel, runs.ranking(kernel))).collect();
    let mut verdicts = Vec::new();
    let mut sections = Vec::new();
    let mut blocks = Vec::new();
    for (index, (kernel, ranking)) in rankings.iter().enumerate() {
        if !runs.cells.iter().any(|cell| cell.kernel == **kernel && !cell.runs.is_empty()) {
            continue;
        }
        verdicts.extend(sentences_of(runs, kernel, ranking));
        blocks.push(Block::Table(ranked_table(runs, kernel, ranking)));
        let title = match runs.kernels.len() {
            1 => "Each scenario".to_owned(),
            _ => format!("Each scenario with the kernel {kernel}"),
        };
        let tables = runs.scenarios.iter().map(|it| details_table(runs, kernel, it, ranking));
        let front = front_chart(runs, ranking, index).map(|it| Block::Chart(Box::new(it)));
        let blocks = front.into_iter().chain(tables.map(Block::Table)).collect();
        sections.push(Section::new(&format!("kernel-{}", index + 1), &title, blocks));
    }
    blocks.push(Block::Notes(legend(runs)));
    blocks.push(Block::Notes(reading()));
    sections.push(Section::new("policies", "The policies", vec![policy_table(runs).into()]));
    sections.push(Section::new("scenarios", "The scenarios", vec![scenario_table(runs).into()]));
    let repeat = vec![Block::Command(command.to_owned())];
    sections.push(Section::new("repeat", "The command that repeats it", repeat));
    let document =
        Document { title: heading(runs), verdicts, blocks, sections, ..Document::default() };
    let brief = brief(runs, &rankings, interrupted);
    let rankings = rankings.into_iter().map(|(_, ranking)| ranking).collect();
    document.with_brief(brief).with_data(Figures { runs, rankings, command, interrupted })
}

/// The scenarios and policies of this program.
pub fn freeze_list_document(known: FreezeSuiteRuns) -> Document<'static> {
    let mut tables = vec![scenario_table(&known).into(), policy_table(&known).into()];
    tables.push(Block::Notes(vec![
        "A scenario or a policy may also be a file: docs/freeze.md.".to_owned(),
    ]));
    Document::of(tables).with_data(known)
}

/// The result on one screen.
fn brief(
    runs: &FreezeSuiteRuns,
    rankings: &[(&String, FreezeRanking)],
    interrupted: bool,
) -> Document<'static> {
    let has_runs =
        |kernel: &str| runs.cells.iter().any(|it| it.kernel == kernel && !it.runs.is_empty());
    let measured: Vec<&(&String, FreezeRanking)> =
        rankings.iter().filter(|(kernel, _)| has_runs(kernel)).collect();
    let mut verdicts = Vec::new();
    let mut blocks = Vec::new();
    for (kernel, ranking) in measured.iter().take(MOST_KERNELS) {
        verdicts.extend(sentences_of(runs, kernel, ranking));
        blocks.push(Block::Table(ranked_table(runs, kernel, ranking)));
    }
    let mut notes = legend(runs);
    if measured.len() > MOST_KERNELS {
        let more = format::counted(measured.len() - MOST_KERNELS, "more kernel");
        notes.push(format!("{more}: --details"));
    }
    if interrupted {
        notes.push("Stopped: this is what is known so far.".to_owned());
    }
    blocks.push(Block::Notes(notes));
    Document { verdicts, blocks, ..Document::default() }
}

fn sentences_of(runs: &FreezeSuiteRuns, kernel: &str, ranking: &FreezeRanking) -> Vec<Verdict> {
    [of_reference(runs, kernel), conclusion(runs, ranking)].into_iter().flatten().collect()
}

/// The policies on a kernel, the best first.
fn ranked_table(runs: &FreezeSuiteRuns, kernel: &str, ranking: &FreezeRanking) -> Table {
    match &runs.scenarios[..] {
        [only] => one_scenario_table(runs, kernel, only, ranking),
        _ => matrix_table(runs, kernel, ranking),
    }
}

fn heading(runs: &FreezeSuiteRuns) -> String {
    let scenarios = match &runs.scenarios[..] {
        [only] => only.name.clone(),
        all => format::counted(all.len(), "scenario"),
    };
    let policies = match runs.policies.len() {
        1 => "one policy".to_owned(),
        all => format!("{all} policies"),
    };
    format!("Freezes: {scenarios} under {policies}")
}

fn policy_table(runs: &FreezeSuiteRuns) -> Table {
    let rows = runs.policies.iter().map(|it| [it.name.clone(), it.about.clone()]);
    Table::of("", ["policy", "what it changes"], rows)
}

fn scenario_table(runs: &FreezeSuiteRuns) -> Table {
    let rows = runs.scenarios.iter().map(|it| [it.name.clone(), it.about.clone()]);
    Table::of("", ["scenario", "what fills memory"], rows)
}
