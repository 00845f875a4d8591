//! A sweep as a document: facts, knee, table of levels, curve, and the counters under the knee.

mod chart;
mod limit;
mod pressure;
mod sentences;
mod tables;

use analysis::Setup;
use analysis::sweep::{Curve, Grid, SweepResult};
use itertools::Itertools;
use model::Header;
use render::{Block, Document, Table, Tone, Verdict, format};

pub(crate) use chart::chart;
pub use sentences::sweep_so_far;
pub use sentences::{knee as knee_sentence, others as other_sentences};
pub use tables::{movers, span};

/// Rows and notes of a sweep on one screen.
const MOST_ROWS: usize = 9;
const MOST_NOTES: usize = 4;
/// Curves whose knees are reported on one screen.
const MOST_CURVES: usize = 3;
/// Rows that the sentence on an observed run takes.
const ROWS_OF_OBSERVED: usize = 4;
/// Columns that it does not have.
const OF_DETAILS: [&str; 4] = ["user", "system", "page walks (loads)", "page tables"];

/// A sweep.
#[derive(Clone, Debug)]
pub struct SweepView<'a> {
    /// The subject, if known.
    pub place: String,
    /// Parameters that were the same everywhere.
    pub settings: Vec<(String, String)>,
    /// The second parameter, if there is one.
    pub by: Option<String>,
    /// The curves, one for each level of the second parameter.
    pub rows: Vec<SweepRow<'a>>,
    /// The rows side by side.
    pub grid: Option<Grid>,
    /// What the work did at a level that costs more than the price, as a sentence.
    pub observed: Option<String>,
    /// Minimum rise of the cost above the plateau, as a factor.
    pub least_rise: f64,
}

/// One curve and its analysis.
#[derive(Clone, Debug)]
pub struct SweepRow<'a> {
    /// Its level of the second parameter; empty if there is none.
    pub label: String,
    /// The measurements.
    pub curve: &'a Curve,
    /// The analysis.
    pub found: SweepResult,
}

/// Levels and costs of a curve as text, in its units.
#[derive(Clone, Copy, Debug)]
pub struct Amounts<'a> {
    level_unit: &'a str,
    cost_unit: &'a str,
}

impl<'a> Amounts<'a> {
    /// In the units of this curve.
    pub fn new(curve: &'a Curve) -> Self {
        Self { level_unit: &curve.level_unit, cost_unit: &curve.cost_unit }
    }

    /// A level with its unit.
    pub fn level(&self, level: f64) -> String {
        format::level(level, self.level_unit)
    }

    /// A cost with its unit.
    pub fn cost(&self, cost: f64) -> String {
        format::quantity(cost, self.cost_unit)
    }

    fn interval(&self, one: f64, other: f64) -> String {
        format::interval(one.min(other), one.max(other), |level| self.level(level))
    }
}

impl SweepView<'_> {
    /// A sentence on the knee of each curve.
    pub fn knees(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|row| {
            let knee = match &row.found.priced {
                Some(priced) => limit::answer(row.curve, priced),
                None => knee_sentence(row.curve, &row.found, self.least_rise),
            };
            match (&self.by, row.label.as_str()) {
                (_, "") => knee,
                (None, label) => format!("{label}: {knee}"),
                (Some(by), label) => format!("{by} {label}: {knee}"),
            }
        })
    }

    /// What the curves show: the knee of each, and what else was found.
    pub fn sentences(&self) -> Vec<String> {
        let rows =
            self.knees().zip(&self.rows).flat_map(|(knee, SweepRow { curve, found, .. })| {
                let conclusion = found.moved.as_ref().and_then(|moved| moved.conclusion.as_ref());
                let under = conclusion.map(|text| format!("What changes there: {text}."));
                let both = found.pressure.as_ref().zip(found.priced.as_ref());
                let alarm = both.map(|(pressures, priced)| pressure::sentences(pressures, priced));
                let others = other_sentences(found, &Amounts::new(curve));
                [knee].into_iter().chain(alarm.into_iter().flatten()).chain(others).chain(under)
            });
        rows.collect()
    }
}

/// The whole sweep.
pub fn sweep_document(view: &SweepView<'_>) -> Document<'static> {
    let Some(SweepRow { curve, found, .. }) = view.rows.first() else {
        return Document::default();
    };
    let Curve { response, parameter, cost_unit, .. } = curve;
    let unit = if cost_unit.is_empty() { String::new() } else { format!(" ({cost_unit})") };
    let what = if found.priced.is_some() { "Limit" } else { "Sweep" };
    let title = format!("{what}: {response}{unit} over {parameter}");
    let verdicts = view.knees().map(|text| Verdict { text, tone: Tone::Plain }).collect();
    let document = Document { title, verdicts, ..Document::of(sweep_blocks(view)) };
    let document = document.with_facts(sweep_facts(view));
    document.with_brief(match view.rows.len() {
        1 => brief(view),
        _ => brief_of_curves(view),
    })
}

/// The knee of each curve, and the curves side by side.
fn brief_of_curves(view: &SweepView<'_>) -> Document<'static> {
    let knees = view.knees().take(MOST_CURVES);
    let verdicts = knees.map(|text| Verdict { text, tone: Tone::Plain }).collect();
    let of_screen = (tables::SCREEN_LEVELS, MOST_ROWS);
    let mut blocks = view.grid.iter().flat_map(|grid| tables::map(grid, of_screen)).collect_vec();
    blocks.truncate(1);
    let more = view.rows.len().saturating_sub(MOST_CURVES);
    let all = match more {
        0 => "The levels and the chart of each curve: --details.".to_owned(),
        more => format!("{more} more curves, and the levels of each: --details."),
    };
    blocks.push(Block::Notes(vec![all]));
    Document { verdicts, blocks, ..Document::default() }
}

/// The answer, the levels that it rests on, and what went wrong where.
fn brief(view: &SweepView<'_>) -> Document<'static> {
    let verdicts = view.knees().map(|text| Verdict { text, tone: Tone::Plain }).collect();
    let mut blocks = Vec::new();
    let most_rows = MOST_ROWS - view.observed.as_ref().map_or(0, |_| ROWS_OF_OBSERVED);
    for SweepRow { curve, found, .. } in &view.rows {
        let amounts = Amounts::new(curve);
        let (mut table, mut notes) = match &found.priced {
            Some(priced) => {
                let notes = limit::others(found, priced, &amounts);
                (limit::levels(priced, found, &amounts), notes)
            }
            None => {
                let mut table = tables::levels(found, &amounts);
                table.remove_columns(&OF_DETAILS);
                (table, other_sentences(found, &amounts))
            }
        };
        if table.rows.len() > most_rows {
            notes.push(format!("{} levels with --details.", table.rows.len()));
            table = nearest(table, found, most_rows);
        }
        // The answer names the death.
        let problems = tables::problems(&found.rows, &amounts);
        notes.extend(problems.into_iter().filter(|_| found.priced.is_none()));
        notes.truncate(MOST_NOTES);
        blocks.extend([table.into(), Block::Notes(notes)]);
    }
    blocks.extend(view.observed.clone().map(Block::Sentence));
    Document { verdicts, blocks, ..Document::default() }
}

/// The rows around the knee or the death, and both ends.
fn nearest(mut table: Table, found: &SweepResult, most_rows: usize) -> Table {
    let levels: Vec<f64> = match &found.priced {
        Some(priced) => priced.levels.iter().map(|it| it.level).collect(),
        None => found.rows.iter().map(|row| row.level).collect(),
    };
    let of_priced = found.priced.as_ref().and_then(|priced| {
        priced.knee.map(|knee| knee.level).or(priced.death.as_ref().map(|death| death.first))
    });
    let middle = of_priced.or(found.shape.knee().map(|knee| knee.level));
    let away = |level: f64| middle.map_or(0.0, |middle| (level / middle).ln().abs());
    let last = levels.len() - 1;
    let mut kept: Vec<usize> =
        (1..last).sorted_by(|a, b| away(levels[*a]).total_cmp(&away(levels[*b]))).collect();
    kept.truncate(most_rows - 2);
    kept.extend([0, last]);
    kept.sort_unstable();
    table.rows = kept.into_iter().filter_map(|index| table.rows.get(index).cloned()).collect();
    table
}

/// What was measured, the subject, settings and numbers of measurements.
pub fn sweep_facts(view: &SweepView<'_>) -> [(&'static str, String); 4] {
    let settings = view.settings.iter().map(|(name, value)| format!("{name} {value}"));
    let points = || view.rows.iter().flat_map(|row| &row.curve.points);
    let levels = view.rows.iter().map(|row| row.found.rows.len()).sum::<usize>();
    let ways = match points().map(|point| point.pass).max() {
        _ if view.rows.iter().all(|row| row.curve.deterministic) => ", exactly repeatable",
        Some(last) if last > 0 => ", alternately up and down",
        _ => "",
    };
    let name = view.rows.first().map_or_else(String::new, |row| row.curve.name.clone());
    [
        ("measured", name),
        ("place", view.place.replace('\n', "; ")),
        ("settings", settings.format(", ").to_string()),
        ("measurements", format!("{} of {levels} levels{ways}", points().count())),
    ]
}

/// The tables and curves of a sweep, and results besides the knees.
pub fn sweep_blocks(view: &SweepView<'_>) -> Vec<Block> {
    let mut blocks: Vec<Block> = view.observed.clone().map(Block::Sentence).into_iter().collect();
    for SweepRow { label, curve, found } in &view.rows {
        let amounts = Amounts::new(curve);
        if view.rows.len() > 1 {
            let by = view.by.as_deref().unwrap_or_default();
            blocks.push(format!("{by} {label}").into());
        }
        if let Some(priced) = &found.priced {
            blocks.push(limit::levels(priced, found, &amounts).into());
            blocks.push(Block::Notes(limit::others(found, priced, &amounts)));
            if let Some(pressures) = &found.pressure {
                blocks.extend(pressure::tables(pressures, &amounts));
                blocks.push(Block::Notes(pressure::sentences(pressures, priced)));
            }
        }
        blocks.push(tables::levels(found, &amounts).into());
        blocks.push(Block::Notes(tables::problems(&found.rows, &amounts)));
        blocks.extend(chart(found, &amounts));
        blocks.push(Block::Notes(other_sentences(found, &amounts)));
        blocks.extend(found.moved.iter().flat_map(|moved| movers(moved, &amounts)));
        let notes = found.notes.iter().chain(&curve.notes);
        blocks.push(Block::Notes(notes.map(|note| format!("Note: {note}")).collect()));
    }
    blocks.extend(
        view.grid.iter().flat_map(|grid| tables::map(grid, (tables::MOST_LEVELS, usize::MAX))),
    );
    blocks
}

/// The subject as far as it is the same in all runs; empty without runs.
pub fn place_of(headers: &[Header]) -> String {
    let places = headers.iter().map(|header| Setup::new(header, Vec::new()).place()).collect_vec();
    let Some(first) = places.first() else { return String::new() };
    if places.iter().all(|place| place == first) {
        return first.clone();
    }
    let everywhere =
        |part: &&str| places.iter().all(|place| place.split(", ").any(|other| other == *part));
    let kinds = headers.iter().map(|it| it.spec.subject.kind()).sorted().dedup();
    kinds.chain(first.split(", ").filter(everywhere)).join(", ")
}

#[cfg(test)]
mod tests;
