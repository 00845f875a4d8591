//! A comparison as a document: the verdicts first, then their basis.

mod brief;
mod cells;
mod footnotes;

pub(crate) use brief::{brief_table, important_notes, letters};
pub(crate) use cells::observed_cell;

use analysis::comparison::{Arm, Cell, Comparison, Difference};
use render::{Block, Cell as TableCell, Document, Table, Tone, Verdict, format};
use stats::Verdict as Judged;

const LONGEST_NAME: usize = 12;

/// The whole comparison.
pub fn comparison_document(comparison: &Comparison) -> Document<'_> {
    let view = View { comparison };
    let mut all = view.differences();
    all.extend(blocks(comparison, Vec::new()));
    let of = comparison.factor.as_ref();
    let of = of.map(|factor| format!(" of {factor} in {}", comparison.inputs.join(", ")));
    let title = format!("Comparison{}", of.unwrap_or_default());
    let (verdicts, facts) = (vec![conclusion(comparison)], legend(comparison));
    let document = Document { title, verdicts, facts, ..Document::of(all) };
    document.with_brief(brief::brief(comparison)).with_data(comparison)
}

/// The tables of a comparison, with its charts after the primary estimates.
pub(crate) fn blocks(comparison: &Comparison, charts: Vec<Block>) -> Vec<Block> {
    let view = &View { comparison };
    let mut blocks: Vec<Block> = cells::overall(view).map(Block::Table).into_iter().collect();
    blocks.extend(charts);
    blocks.push(cells::verdicts(view).into());
    blocks.extend(cells::trials(view).into_iter().chain(cells::stalls(view)).map(Block::Table));
    blocks.extend(cells::explained(view));
    blocks.extend(cells::seeds(view).map(Block::Table).into_iter().chain(footnotes::few(view)));
    blocks.push(Block::Notes(footnotes::footnotes(view)));
    blocks
}

pub(crate) fn conclusion(comparison: &Comparison) -> Verdict {
    let cells = || comparison.cells.iter().map(|cell| cell.verdict);
    let overall = || comparison.overall.iter().map(|overall| overall.verdict);
    let has = |verdict: Judged| cells().chain(overall()).any(|other| other == verdict);
    // Undecided cells do not matter if the overall effects are decided.
    let decided = overall().next().is_some() && !overall().any(|one| one == Judged::CannotTell);
    let tone = match () {
        () if has(Judged::Regression) => Tone::Bad,
        () if has(Judged::Difference) => Tone::Doubtful,
        () if has(Judged::CannotTell) && !decided => Tone::Unknown,
        () if has(Judged::Improvement) => Tone::Better,
        () => Tone::Good,
    };
    Verdict { text: comparison.conclusion.clone(), tone }
}

pub(crate) fn legend(comparison: &Comparison) -> Vec<(String, String)> {
    let view = View { comparison };
    let line = |(index, arm): (usize, &Arm)| {
        let trials = format::counted(arm.trials, "trial");
        let text = if view.has_letters() { format!("{}, {trials}", arm.name) } else { trials };
        (view.arm(index), text)
    };
    comparison.arms.iter().enumerate().map(line).collect()
}

pub(crate) const fn verdict(verdict: Judged) -> (&'static str, Tone) {
    match verdict {
        Judged::Regression => ("regression", Tone::Bad),
        Judged::Improvement => ("improvement", Tone::Better),
        Judged::Difference => ("difference", Tone::Doubtful),
        Judged::Equivalent => ("equivalent", Tone::Good),
        Judged::CannotTell => ("cannot tell", Tone::Unknown),
    }
}

fn verdict_cell(judged: Judged) -> TableCell {
    let (word, tone) = verdict(judged);
    TableCell::Text(word.to_owned(), tone)
}

/// An interval of ratios, unless it is too wide to be useful.
pub(crate) fn usable(low: f64, high: f64) -> Option<(f64, f64)> {
    (!stats::says_nothing(low, high)).then_some((low, high))
}

struct View<'a> {
    comparison: &'a Comparison,
}

impl View<'_> {
    /// An arm's name: its level if there are two short ones, else a letter.
    fn arm(&self, index: usize) -> String {
        match self.has_letters() {
            true => format::letter(index),
            false => self.comparison.arms[index].name.clone(),
        }
    }

    fn has_letters(&self) -> bool {
        let is_long = |arm: &Arm| arm.name.chars().count() > LONGEST_NAME;
        let Comparison { factor, arms, .. } = self.comparison;
        factor.is_none() || arms.len() > 2 || arms.iter().any(is_long)
    }

    fn several_arms(&self) -> bool {
        self.comparison.arms.len() > 2
    }

    /// The factor whose levels are the arms, or `input`.
    fn factor(&self) -> String {
        self.comparison.factor.clone().unwrap_or_else(|| "input".to_owned())
    }

    fn differences(&self) -> Vec<Block> {
        let Comparison { arms, differences, not_recorded, .. } = self.comparison;
        let (mut blocks, mut notes) = (Vec::new(), Vec::new());
        if differences.is_empty() {
            notes.push("The systems agree in all facts that were recorded.".to_owned());
        } else {
            let names = (0..arms.len()).map(|index| self.arm(index));
            let head = ["differs".to_owned()].into_iter().chain(names).chain([String::new()]);
            blocks.push(Table::of("", head, differences.iter().map(difference)).into());
        }
        if !not_recorded.is_empty() {
            notes.push(format!("Not recorded: {}.", not_recorded.join(", ")));
        }
        blocks.push(Block::Notes(notes));
        blocks
    }

    /// The headings of the columns that identify the cell of a row.
    fn place_head(&self) -> Vec<String> {
        let cells = &self.comparison.cells;
        let arm = self.several_arms().then(|| self.factor()).into_iter();
        let before = arm.chain(self.has_response().then(|| "response".to_owned()));
        let levels = cells.first().into_iter().flat_map(|cell| cell.levels.keys().cloned());
        before.chain(levels).chain(self.has_parts().then(|| "part".to_owned())).collect()
    }

    fn place(&self, cell: &Cell) -> Vec<TableCell> {
        let arm = self.several_arms().then(|| self.arm(cell.arm)).into_iter();
        let before = arm.chain(self.has_response().then(|| cell.response.clone()));
        let part = || cell.part.clone().unwrap_or_else(|| "whole".to_owned());
        let row = before.chain(cell.levels.values().cloned()).chain(self.has_parts().then(part));
        row.map(TableCell::from).collect()
    }

    /// Whether rows name their response: there are several, or nothing else identifies a row.
    fn has_response(&self) -> bool {
        let Comparison { responses, cells, arms, .. } = self.comparison;
        responses.len() > 1 || cells.len() == arms.len() - 1
    }

    fn has_parts(&self) -> bool {
        self.comparison.cells.iter().any(|cell| cell.part.is_some())
    }
}

/// A cell in words: arm, levels, part and response as far as they differ.
pub(crate) fn label(comparison: &Comparison, cell: &Cell, arm: &str) -> String {
    let arm = (comparison.arms.len() > 2).then(|| arm.to_owned());
    let response = (comparison.responses.len() > 1).then(|| cell.response.clone());
    let is_whole = cell.part.is_none() && comparison.cells.iter().any(|cell| cell.part.is_some());
    let place = match (cell.label(), is_whole) {
        (levels, true) => format!("{levels} whole").trim_start().to_owned(),
        (levels, false) => levels,
    };
    let place = (!place.is_empty()).then_some(place);
    let parts: Vec<String> = [arm, place, response].into_iter().flatten().collect();
    if parts.is_empty() { cell.response.clone() } else { parts.join(" · ") }
}

fn difference(difference: &Difference) -> Vec<TableCell> {
    let values = difference.values.iter().map(|values| match values.len() {
        0 => TableCell::Absent("not recorded".to_owned()),
        1..=3 => TableCell::from(values.join(" | ")),
        several => TableCell::from(format!("{} | … ({several} values)", values[0])),
    });
    let compared = if difference.compared { "compared" } else { "" };
    let fact = TableCell::from(&difference.fact);
    std::iter::once(fact).chain(values).chain([TableCell::from(compared)]).collect()
}
