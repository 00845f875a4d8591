//! A program on a simulated machine in the columns of 1990, next to a published table if any.

mod acceptance;

use std::collections::BTreeMap;

use analysis::published::{Beside, BesideRow, best};
use analysis::seeds_text;
use analysis::sweep::{Curve, Point, SweepResult};
use render::{Block, Cell, Document, Table};

use curves::{Amounts, knee_sentence, movers, other_sentences};

/// The runs of a program.
#[derive(Clone, Debug)]
pub struct ProgramRunView<'a> {
    /// The machine in words.
    pub place: String,
    /// The program and its parameters in words.
    pub program: String,
    /// The seeds of each level.
    pub seeds: Vec<u64>,
    /// The measurements, one per run.
    pub curve: &'a Curve,
    /// Their analysis.
    pub found: &'a SweepResult,
    /// Title and source of the published table, and the comparison with it.
    pub beside: Option<(String, &'a Beside)>,
    /// Minimum rise of the cost above the plateau, as a factor.
    pub least_rise: f64,
}

/// The columns of published tables: heading, name, divisor and number of decimals.
const COLUMNS: [(&str, &str, f64, usize); 5] = [
    ("elapsed s", "elapsed_ns", 1e9, 1),
    ("user s", "user_ns", 1e9, 1),
    ("system s", "system_ns", 1e9, 1),
    ("faults", "translation_faults", 1.0, 0),
    ("swap-ins", "swap_ins", 1.0, 0),
];

/// The simulated table, the published one next to it, and the knee.
pub fn program_run_document(view: &ProgramRunView<'_>) -> Document<'static> {
    let amounts = Amounts::new(view.curve);
    let program = format!("{}, {}", view.program, seeds_text(&view.seeds));
    let facts = [("machine", view.place.clone()), ("program", program)];
    let mut document = Document::of(vec![simulated(view, &amounts).into()]).with_facts(facts);
    if view.seeds.len() > 1 {
        let which = "the fastest run of each level; median and max are elapsed times of all";
        document.push(Block::Notes(vec![which.to_owned()]));
    }
    if let Some((source, beside)) = &view.beside {
        document.push(Block::Verbatim(source.clone()));
        document.push(published(beside, &amounts));
        document.push(Block::Notes(acceptance::lines(beside, &amounts)));
    }
    if view.found.rows.len() > 1 {
        let knee = knee_sentence(view.curve, view.found, view.least_rise);
        let others = other_sentences(view.found, &amounts);
        document.push(Block::Notes([knee].into_iter().chain(others).collect()));
        document.blocks.extend(view.found.moved.iter().flat_map(|it| movers(it, &amounts)));
    }
    document
}

fn simulated(view: &ProgramRunView<'_>, amounts: &Amounts<'_>) -> Table {
    let several = view.seeds.len() > 1;
    let mut head = vec!["memory", "relative speed"];
    for (heading, figure, ..) in COLUMNS {
        head.push(heading);
        if several && figure == COLUMNS[0].1 {
            head.extend(["median", "max"]);
        }
    }
    let levels = view.found.rows.iter().map(|row| row.level);
    let best: Vec<(f64, &Point)> =
        levels.filter_map(|level| Some((level, best(view.curve, level)?))).collect();
    let first = best.first().and_then(|(_, point)| point.cost);
    let rows = best.iter().map(|(level, point)| {
        let speed = first.zip(point.cost).map(|(first, cost)| first / cost);
        let mut row = vec![Cell::figure(amounts.level(*level)), Cell::decimals(speed, 2)];
        for (_, figure, scale, digits) in COLUMNS {
            row.push(printed(&point.figures, figure, scale, digits));
            if several && figure == COLUMNS[0].1 {
                let of_level = view.curve.points.iter().filter(|point| point.level == *level);
                let times: Vec<f64> =
                    of_level.filter_map(|point| point.figures.get(figure).copied()).collect();
                let both = [stats::median(&times), times.iter().copied().reduce(f64::max)];
                row.extend(both.map(|time| Cell::decimals(time.map(|ns| ns / scale), digits)));
            }
        }
        row
    });
    Table::of("", head, rows)
}

/// The published table, with the ratio of simulated to published figures after each column.
fn published(beside: &Beside, amounts: &Amounts<'_>) -> Table {
    let has = |row: &BesideRow, name: &str| row.published.figures.contains_key(name);
    let is_published =
        |(_, name, ..): &(&str, &str, _, _)| beside.rows.iter().any(|it| has(it, name));
    let columns: Vec<_> = COLUMNS.into_iter().filter(is_published).collect();
    let is_judged = beside.rows.iter().any(|row| !row.ratios.is_empty());
    let figures = columns.iter().flat_map(|(heading, ..)| [*heading, "ratio"]);
    let head = ["memory"].into_iter().chain(figures).chain(is_judged.then_some("accepted"));
    let rows = beside.rows.iter().map(|row| {
        let mut cells = vec![Cell::figure(amounts.level(row.level))];
        for (_, name, scale, digits) in &columns {
            cells.push(printed(&row.published.figures, name, *scale, *digits));
            let of = |point: &Point| point.figures.get(*name).copied();
            let ratio = of(&row.best).zip(of(&row.published).filter(|value| *value > 0.0));
            cells.push(Cell::decimals(ratio.map(|(own, printed)| own / printed), 2));
        }
        if is_judged {
            let judged = row.ratios.iter().map(|(at, holds)| {
                let bounds = acceptance::bounds(&beside.judged[*at].condition);
                format!("{bounds}: {}", acceptance::yes(*holds))
            });
            cells.push(Cell::figure(judged.collect::<Vec<_>>().join(", ")));
        }
        cells
    });
    Table::of("", head, rows)
}

fn printed(figures: &BTreeMap<String, f64>, name: &str, scale: f64, digits: usize) -> Cell {
    Cell::decimals(figures.get(name).map(|value| value / scale), digits)
}

#[cfg(test)]
mod tests {
    use analysis::published::{Condition, ConditionKind};
    use analysis::sweep::{Settings, find};
    use render::plain_text;

    use super::*;

    const MB: f64 = 1_048_576.0;

    fn curve(rows: &[(f64, f64, f64)], scale: f64) -> Curve {
        let point = |(mb, elapsed_s, faults): &(f64, f64, f64)| Point {
            level: mb * MB,
            cost: Some(elapsed_s * 1e9 / mb),
            figures: [
                ("elapsed_ns", elapsed_s * 1e9 * scale),
                ("user_ns", 0.5e9),
                ("system_ns", elapsed_s * 1e9 - 0.5e9),
                ("translation_faults", *faults),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
            ..Point::default()
        };
        Curve {
            level_unit: "bytes".to_owned(),
            cost_unit: "ns".to_owned(),
            points: rows.iter().map(point).collect(),
            ..Curve::default()
        }
    }

    fn condition(kind: ConditionKind, figure: &str, bounds: [Option<f64>; 2]) -> Condition {
        let [least, most] = bounds;
        let (from, to) = (2.0 * MB, 4.0 * MB);
        let figure = figure.to_owned();
        Condition { kind, figure, from, to, least, most, printed_below: 0.0, printed_above: 0.0 }
    }

    #[test]
    fn a_table_stands_above_the_published_one_and_its_conditions() {
        let rows = [(2.0, 3.5, 1224.0), (4.0, 6.4, 1840.0), (4.0, 9.0, 3000.0)];
        let (own, table) = (curve(&rows, 1.0), curve(&rows[..2], 0.9));
        let found = find(&own, &Settings::default());
        let conditions = [
            condition(ConditionKind::Ratio, "elapsed_ns", [Some(0.95), Some(1.05)]),
            condition(ConditionKind::Ratio, "user_ns", [Some(0.5), Some(2.0)]),
            condition(ConditionKind::Rate, "translation_faults", [Some(200.0), Some(400.0)]),
            condition(ConditionKind::Growth, "translation_faults", [Some(50.0), None]),
            condition(ConditionKind::Count, "translation_faults", [None, Some(0.0)]),
            condition(ConditionKind::Knee, "", [None, None]),
        ];
        let beside = Beside::new(&own, &found.shape, &table, &conditions);
        let view = ProgramRunView {
            place: "simulated sparcstation1 of 24M, hat old".to_owned(),
            program: "vmtest, 2M a process".to_owned(),
            seeds: vec![1, 2],
            curve: &own,
            found: &found,
            beside: Some(("A table\nFrom: a paper, 1990".to_owned(), &beside)),
            least_rise: 1.5,
        };
        insta::assert_snapshot!(plain_text(&program_run_document(&view)));
    }
}
