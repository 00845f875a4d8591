//! A history of kernels as a document: the table of kernels and measures, its steps, what is open,
//! and the command that repeats each step.

mod sentences;
mod table;

use analysis::history::{History, HistoryData, PairState, Step, StepKind};
use render::{Block, Cell, Document, Section, Table, Tone, Verdict, format};
use serde::Serialize;

use sentences::{command, deaths, details, is_death, sentence, title};
use table::{grouped_tables, line_table, spread_table, whole_table};

/// Most steps on one screen.
const MOST_STEPS: usize = 6;

/// The unrounded figures of a document.
#[derive(Serialize)]
struct Figures<'a> {
    data: &'a HistoryData,
    history: &'a History,
    /// The command that repeats each step, in their order.
    commands: Vec<String>,
}

/// What a history shows, and the figures that it rests on.
pub fn history_document<'a>(data: &'a HistoryData, history: &'a History) -> Document<'a> {
    let verdicts = vec![conclusion(data, history)];
    let mut sections = vec![Section::new(
        "kernels",
        "Kernels and measures",
        vec![
            whole_table(data, history).into(),
            Block::Notes(legend(data).into_iter().chain(smaller_note(history)).collect()),
            line_table(data).into(),
            spread_table(data).into(),
        ],
    )];
    let steps = history.steps.iter().enumerate().map(|(index, step)| {
        let name = format!("step-{}", index + 1);
        Section::new(&name, &format!("{}. {}", index + 1, title(data, step)), details(data, step))
    });
    sections.extend(steps);
    sections.extend(open_section(data, history));
    sections.push(Section::new(
        "suite",
        "The suite",
        vec![Block::Verbatim(data.suite.text.clone())],
    ));
    let commands = history.steps.iter().map(|step| command(data, step)).collect();
    let document = Document {
        title: heading(data),
        verdicts,
        facts: facts(data),
        blocks: step_list(data, history, usize::MAX),
        sections,
        ..Document::default()
    };
    let figures = Figures { data, history, commands };
    document.with_brief(brief(data, history)).with_data(figures)
}

/// The result on one screen.
fn brief(data: &HistoryData, history: &History) -> Document<'static> {
    let tables = grouped_tables(data, history).into_iter();
    let mut blocks: Vec<Block> = tables.map(Block::Table).collect();
    blocks.extend(step_list(data, history, MOST_STEPS));
    let mut notes = legend(data);
    notes.extend(smaller_note(history));
    notes.extend(open_note(data, history));
    blocks.push(Block::Notes(notes));
    Document { verdicts: vec![conclusion(data, history)], blocks, ..Document::default() }
}

fn heading(data: &HistoryData) -> String {
    let ends = (data.kernels.first(), data.kernels.last());
    let range = match ends {
        (Some(first), Some(last)) if data.kernels.len() > 1 => {
            format!(", {} to {}", first.name, last.name)
        }
        _ => String::new(),
    };
    format!("History of {}{range}", format::counted(data.kernels.len(), "kernel"))
}

/// How many steps of which kind there are, in one sentence.
fn conclusion(data: &HistoryData, history: &History) -> Verdict {
    let count =
        |kinds: &[StepKind]| history.steps.iter().filter(|step| kinds.contains(&step.kind)).count();
    let counted = [
        (count(&[StepKind::Died]), "to death"),
        (count(&[StepKind::Failing]), "to failures"),
        (count(&[StepKind::Slower]), "slower"),
        (count(&[StepKind::Faster]), "faster"),
        (count(&[StepKind::MoreVariable]), "more variable"),
        (count(&[StepKind::LessVariable]), "less variable"),
        (count(&[StepKind::Recovered, StepKind::Succeeding]), "back to life"),
    ];
    let is_bad = counted[..3].iter().any(|(count, _)| *count > 0);
    let words: Vec<String> = counted
        .iter()
        .filter(|it| it.0 > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let steps = format::counted(history.steps.len(), "step");
    let steps = if words.is_empty() { steps } else { format!("{steps} ({})", words.join(", ")) };
    let open = history.open().count();
    let text = format!(
        "{}, {}: {steps}; {open} of {} comparisons of neighbours are open.",
        heading(data),
        format::counted(data.measures.len(), "measure"),
        history.comparisons.len()
    );
    let tone = match (is_bad, history.steps.is_empty()) {
        (true, _) => Tone::Bad,
        (false, false) => Tone::Better,
        (false, true) if open > 0 => Tone::Unknown,
        (false, true) => Tone::Good,
    };
    Verdict { text, tone }
}

fn facts(data: &HistoryData) -> Vec<(String, String)> {
    let settings = data.settings;
    let mut clocks: Vec<&String> = data.cells.iter().map(|cell| &cell.clock).collect();
    clocks.sort();
    clocks.dedup();
    let runs: usize = data.cells.iter().map(|cell| cell.runs.len()).sum();
    let clock = clocks.iter().map(|it| it.as_str()).filter(|it| !it.is_empty()).collect::<Vec<_>>();
    let known = [
        ("suite", format!("{} {}", data.suite.name, data.suite.typed)),
        ("clock", clock.join(", ")),
        ("runs", runs.to_string()),
        ("margin", format::percent(settings.margin)),
        ("chance of any wrong claim", format::percent(settings.alpha)),
    ];
    let known = known.into_iter().filter(|(_, fact)| !fact.trim().is_empty());
    known.map(|(name, fact)| (name.to_owned(), fact.trim().to_owned())).collect()
}

/// The steps as a numbered list, the important ones if there are more than `most`.
fn step_list(data: &HistoryData, history: &History, most: usize) -> Vec<Block> {
    let mut groups = alike(&history.steps);
    let all = groups.len();
    if all > most {
        groups.sort_by(|one, other| {
            let [one, other] = [one, other].map(|group| weight(&history.steps[group[0]]));
            other.total_cmp(&one)
        });
        groups.truncate(most);
        groups.sort_unstable();
    }
    let has_all = groups.len() == all;
    let is_empty = groups.is_empty();
    let lines = groups.into_iter().map(|group| {
        let numbers: Vec<String> = group.iter().map(|index| (index + 1).to_string()).collect();
        let steps: Vec<&Step> = group.iter().map(|index| &history.steps[*index]).collect();
        let text = match steps[..] {
            [only] => sentence(data, only),
            _ => deaths(data, &steps),
        };
        format!("{}. {text}", numbers.join(", "))
    });
    let mut blocks: Vec<Block> = lines.map(Block::Sentence).collect();
    if !has_all {
        let more = format::counted(all - most, "smaller step");
        blocks.push(format!("{more}, and the command that repeats each: --details").into());
    } else if most != usize::MAX && !is_empty {
        blocks.push("The command that repeats each step: --details".into());
    }
    blocks
}

/// The steps in groups: a kernel that dies under several measures, or lives again under them, is one
/// line.
fn alike(steps: &[Step]) -> Vec<Vec<usize>> {
    let key = |step: &Step| is_death(step).then_some((step.kind, step.after));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let is_alike =
            |group: &&mut Vec<usize>| key(step).is_some() && key(&steps[group[0]]) == key(step);
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// How important a step is: deaths first, then the largest ratios.
fn weight(step: &Step) -> f64 {
    let far = step.ratio.map_or(0.0, |ratio| ratio.ratio.ln().abs());
    match step.kind {
        StepKind::Died => f64::INFINITY,
        StepKind::Failing => 1e6,
        StepKind::Recovered | StepKind::Succeeding => 1e3,
        StepKind::Slower | StepKind::Faster => far,
        StepKind::MoreVariable | StepKind::LessVariable => far / 1e3,
    }
}

fn legend(data: &HistoryData) -> Vec<String> {
    let settings = data.settings;
    let [margin, alpha] = [settings.margin, settings.alpha].map(format::percent);
    let of_instructions =
        data.cells.iter().any(|cell| cell.clock.starts_with(sentences::INSTRUCTIONS));
    let clock = if of_instructions { " Times are in instructions." } else { "" };
    vec![format!(
        "▲ slower than the kernel before, ▼ faster, ~ another spread, ? open.{clock} Margin {margin}; \
         chance of any wrong claim in the table: {alpha}."
    )]
}

/// How many changes are certain and do not matter.
fn smaller_note(history: &History) -> Option<String> {
    (history.smaller > 0).then(|| {
        let changes = format::counted(history.smaller, "change");
        format!("Certain, and smaller than the margin: {changes}; a smaller --margin shows them.")
    })
}

/// Which measures are open, and what would decide them.
fn open_note(data: &HistoryData, history: &History) -> Option<String> {
    let rows = open_rows(data, history);
    let words: Vec<String> = rows
        .iter()
        .map(|row| match row.needs {
            Some(needs) => format!("{} {} (about {needs} seeds)", row.measure, row.open),
            None => format!("{} {}", row.measure, row.open),
        })
        .collect();
    (!words.is_empty()).then(|| format!("Open: {}; --seeds N allows more.", words.join(", ")))
}

/// The open comparisons of a measure.
struct OpenRow<'a> {
    measure: &'a str,
    open: usize,
    all: usize,
    /// Seeds that would decide half of them; `None` if that is unknown.
    needs: Option<u64>,
}

fn open_rows<'a>(data: &'a HistoryData, history: &History) -> Vec<OpenRow<'a>> {
    let row = |(index, measure): (usize, &'a String)| {
        let open: Vec<_> = history.open().filter(|it| it.measure == index).collect();
        let mut needs: Vec<u64> = open
            .iter()
            .filter_map(|it| match it.pair.state {
                PairState::Open { needs } => needs,
                _ => None,
            })
            .collect();
        needs.sort_unstable();
        let all = history.comparisons.iter().filter(|it| it.measure == index).count();
        let needs = needs.get(needs.len() / 2).copied();
        OpenRow { measure, open: open.len(), all, needs }
    };
    data.measures.iter().enumerate().map(row).filter(|row| row.open > 0).collect()
}

fn open_section(data: &HistoryData, history: &History) -> Option<Section> {
    let rows = open_rows(data, history);
    if rows.is_empty() {
        return None;
    }
    let mut table =
        Table::new("", ["measure", "open", "of", "seeds that would decide half of them"]);
    for row in rows {
        let needs = row.needs.map(|needs| format!("about {needs}"));
        table.row([Cell::from(row.measure), row.open.into(), row.all.into(), needs.into()]);
    }
    let notes = vec![
        "Open: neither a difference nor an equivalence was shown with the seeds that were allowed. \
         More are allowed by --seeds N; the runs that exist are kept."
            .to_owned(),
    ];
    Some(Section::new("open", "What stays open", vec![table.into(), Block::Notes(notes)]))
}

#[cfg(test)]
mod tests;
