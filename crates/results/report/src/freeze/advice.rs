//! Advice against freezes as a document: which settings a suite supports for a machine, what is better
//! and worse with them, and what they change.

use analysis::freeze::{Advice, Change, Effect, FreezeSuiteRuns, MachineNow};
use render::{Block, Document, Section, Tone, Verdict, format};
use serde::Serialize;

use super::table::{per_run, seconds};

/// What the lines of files are.
const UNCHANGED: &str = "Nothing was changed: - are lines that are there now, + those to add.";
/// Scenarios that a sentence names.
const MOST_NAMED: usize = 3;

/// What advice rests on.
pub struct AdviceView<'a> {
    /// The suite that supports it.
    pub runs: &'a FreezeSuiteRuns,
    /// The machine.
    pub machine: &'a MachineNow,
    /// The machine in words.
    pub about: &'a str,
    /// Scenarios that matter for its use.
    pub scenarios: &'a [String],
    /// What would be otherwise on this machine than in the suite, as a sentence.
    pub caveat: Option<&'a str>,
}

/// The unrounded figures of a document.
#[derive(Serialize)]
struct Figures {
    kernel: String,
    reference: String,
    scenarios: Vec<String>,
    advice: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    policy: String,
    #[serde(flatten)]
    advice: Advice,
    changes: Vec<Change>,
}

/// What a suite supports for a machine; `None` if the suite has no kernel or no policy.
pub fn freeze_advice_document(view: &AdviceView<'_>) -> Option<Document<'static>> {
    let AdviceView { runs, machine, scenarios, caveat, .. } = view;
    let kernel = machine.nearest_kernel(runs)?;
    let reference = machine.policy(runs)?;
    let about = format!(
        "This machine: {}. In the suite that is the policy {} with the kernel {kernel}; {}.{}",
        view.about,
        reference.name,
        format::counted(scenarios.len(), "scenario"),
        caveat.map_or_else(String::new, |caveat| format!(" {caveat}"))
    );
    let row = |advice: Advice| {
        let policy = &runs.policies[advice.policy];
        Row { policy: policy.name.clone(), changes: machine.changes(policy), advice }
    };
    let rows = runs.advice(kernel, scenarios, &reference.name).into_iter().map(row);
    // What the machine has already is left out.
    let rows: Vec<Row> = rows.filter(|row| !row.changes.is_empty()).collect();
    let title = |row: &Row| format!("{}: {}", row.policy, runs.policies[row.advice.policy].about);
    let verdicts = vec![conclusion(&rows)];
    let section = |(index, row): (usize, &Row)| {
        Section::new(&format!("advice-{}", index + 1), &title(row), of_policy(row))
    };
    let sections = rows.iter().enumerate().map(section).collect();
    let brief = Document {
        verdicts: verdicts.clone(),
        blocks: on_screen(&about, rows.first().map(|row| (title(row), of_policy(row))), rows.len()),
        ..Document::default()
    };
    let document = Document {
        title: "Advice against freezes".to_owned(),
        verdicts,
        blocks: vec![Block::Sentence(about), Block::Notes(remarks(runs))],
        sections,
        ..Document::default()
    };
    let figures = Figures {
        kernel: kernel.to_owned(),
        reference: reference.name.clone(),
        scenarios: scenarios.to_vec(),
        advice: rows,
    };
    Some(document.with_brief(brief).with_data(figures))
}

/// The machine and the first policy, of so many.
fn on_screen(about: &str, first: Option<(String, Vec<Block>)>, all: usize) -> Vec<Block> {
    let mut blocks = vec![Block::Sentence(about.to_owned())];
    if let Some((title, of_policy)) = first {
        blocks.push(Block::Sentence(title));
        blocks.extend(of_policy);
    }
    let more = match all.saturating_sub(1) {
        0 => "What it rests on: --details.".to_owned(),
        more => format!("{more} more, and what they rest on: --details."),
    };
    blocks.push(Block::Notes(vec![format!("{UNCHANGED} {more}")]));
    blocks
}

fn conclusion(rows: &[Row]) -> Verdict {
    let free: Vec<String> =
        rows.iter().filter(|it| it.advice.worse.is_empty()).map(|it| it.policy.clone()).collect();
    let (text, tone) = match (rows.is_empty(), free.is_empty()) {
        (true, _) => (
            "No setting of the suite is certainly better than what this machine has.".to_owned(),
            Tone::Plain,
        ),
        (false, true) => (
            "Each setting that shortens freezes has a price in another scenario.".to_owned(),
            Tone::Unknown,
        ),
        (false, false) => {
            let verbs = if free.len() == 1 {
                "shortens freezes, and lengthens"
            } else {
                "shorten freezes, and lengthen"
            };
            (format!("{} {verbs} none.", format::and(free)), Tone::Better)
        }
    };
    Verdict { text, tone }
}

/// What is better and worse with a policy, and what it changes.
fn of_policy(row: &Row) -> Vec<Block> {
    let Advice { better, worse, alike, .. } = &row.advice;
    let mut lines = vec![format!("Better: {}.", effects(better))];
    if !worse.is_empty() {
        lines.push(format!("Worse: {}.", effects(worse)));
    }
    if *alike > 0 {
        lines.push(format!("Alike: {}.", format::counted(*alike, "scenario")));
    }
    let mut blocks = vec![Block::List(lines)];
    for Change { file, lines } in &row.changes {
        blocks.push(Block::Verbatim(format!("{file}\n  {}", lines.join("\n  "))));
    }
    blocks
}

fn effects(all: &[Effect]) -> String {
    let effect = |it: &Effect| {
        let [before, after] = it.frozen_s.map(|frozen| seconds(&frozen));
        let [killed_before, killed_after] = it.wrong_victims.map(per_run);
        let killed = match it.wrong_victims[0] == it.wrong_victims[1] {
            true => String::new(),
            false => format!(" ({killed_after} wrong victims instead of {killed_before})"),
        };
        format!("{}, {after} instead of {before}{killed}", it.scenario)
    };
    let mut named: Vec<String> = all.iter().take(MOST_NAMED).map(effect).collect();
    let more = all.len().saturating_sub(MOST_NAMED);
    named.extend((more > 0).then(|| format!("{more} more")));
    named.join("; ")
}

/// What the advice does not know.
fn remarks(runs: &FreezeSuiteRuns) -> Vec<String> {
    let seeds = runs.cells.iter().map(|cell| cell.runs.len()).max().unwrap_or(0);
    vec![
        format!(
            "Better and worse: by a third or more in all of {}, or more wrong victims. The suite's \
             machine has 48 MB and a slow disk, and its time is that of instructions, so expect the \
             direction, not the seconds.",
            format::counted(seeds, "seed")
        ),
        UNCHANGED.to_owned(),
    ]
}
