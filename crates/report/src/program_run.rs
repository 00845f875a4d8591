//! A program on a simulated machine, in the columns of 1990, beside a published table if there is
//! one.

mod acceptance;

use std::collections::BTreeMap;

use analysis::published::{Beside, BesideRow, best};
use analysis::sweep::{Curve, Found, Point};

use crate::columns::to_the_right;
use crate::matrix_text::seeds_text;
use crate::sweep_text::{Amounts, knee_sentence, movers_text, other_sentences};

/// What is told of a program's runs.
#[derive(Clone, Debug)]
pub struct ProgramRunView<'a> {
    /// The machine in words.
    pub place: String,
    /// The program and its parameters in words.
    pub program: String,
    /// The seeds of each level.
    pub seeds: Vec<u64>,
    /// The measurements, a run each.
    pub curve: &'a Curve,
    /// What they say.
    pub found: &'a Found,
    /// The published table beside it: its title and source, and the comparison.
    pub beside: Option<(String, &'a Beside)>,
    /// Factor of the cost that counted as leaving the plateau.
    pub least_rise: f64,
}

/// A column of the published tables: heading, figure, what makes the printed unit of it, and how
/// many digits stand behind the point.
const COLUMNS: [(&str, &str, f64, usize); 5] = [
    ("elapsed s", "elapsed_ns", 1e9, 1),
    ("user s", "user_ns", 1e9, 1),
    ("system s", "system_ns", 1e9, 1),
    ("faults", "translation_faults", 1.0, 0),
    ("swap-ins", "swap_ins", 1.0, 0),
];

/// The whole result. Ends in a newline.
#[must_use]
pub fn program_run_text(view: &ProgramRunView<'_>) -> String {
    let amounts = Amounts::of(view.curve);
    let several = view.seeds.len() > 1;
    let which = match several {
        true => ", the fastest run of each level; median and max are elapsed times of all",
        false => "",
    };
    let mut text = format!(
        "{}\n{}, {}{which}\n\n{}",
        view.place,
        view.program,
        seeds_text(&view.seeds),
        simulated(view, &amounts)
    );
    if let Some((source, beside)) = &view.beside {
        text += &format!("\n{source}\n\n{}", published(beside, &amounts));
        text += &acceptance::text(beside, &amounts);
    }
    if view.found.rows.len() > 1 {
        text += &format!("\n{}", findings(view, &amounts));
    }
    text
}

/// The knee, what a fault costs, and what moved.
fn findings(view: &ProgramRunView<'_>, amounts: &Amounts<'_>) -> String {
    let mut text = format!("{}\n", knee_sentence(view.curve, view.found, view.least_rise));
    for sentence in other_sentences(view.found, amounts) {
        text += &format!("{sentence}\n");
    }
    if let Some(moved) = &view.found.moved {
        let movers = movers_text(moved, amounts);
        if !movers.is_empty() {
            text += &format!("\n{movers}");
        }
    }
    text
}

fn simulated(view: &ProgramRunView<'_>, amounts: &Amounts<'_>) -> String {
    let several = view.seeds.len() > 1;
    let mut head = vec!["memory".to_owned(), "relative speed".to_owned()];
    for (heading, figure, ..) in COLUMNS {
        head.push(heading.to_owned());
        if several && figure == COLUMNS[0].1 {
            head.extend(["median", "max"].map(str::to_owned));
        }
    }
    let rows: Vec<(f64, &Point)> = view
        .found
        .rows
        .iter()
        .filter_map(|row| Some((row.level, best(view.curve, row.level)?)))
        .collect();
    let first = rows.first().and_then(|(_, point)| point.cost);
    let mut cells = vec![head];
    for (level, point) in rows {
        let speed = first.zip(point.cost).map(|(first, cost)| first / cost);
        let mut line = vec![amounts.level(level), or_dash(speed, |speed| format!("{speed:.2}"))];
        for (_, figure, scale, digits) in COLUMNS {
            line.push(printed(&point.figures, figure, scale, digits));
            if several && figure == COLUMNS[0].1 {
                let times = elapsed(view.curve, level);
                let longest = times.iter().copied().reduce(f64::max);
                let told = [stats::median(&times), longest];
                line.extend(told.map(|time| or_dash(time, |ns| format!("{:.1}", ns / 1e9))));
            }
        }
        cells.push(line);
    }
    to_the_right(&cells)
}

fn elapsed(curve: &Curve, level: f64) -> Vec<f64> {
    let of_level = curve.points.iter().filter(|point| point.level == level);
    of_level.filter_map(|point| point.figures.get("elapsed_ns").copied()).collect()
}

/// The published table, with the simulated figure over the published one behind each column.
fn published(beside: &Beside, amounts: &Amounts<'_>) -> String {
    let has = |row: &BesideRow, name: &str| row.published.figures.contains_key(name);
    let columns: Vec<_> = COLUMNS
        .into_iter()
        .filter(|(_, name, ..)| beside.rows.iter().any(|row| has(row, name)))
        .collect();
    let mut head = vec!["memory".to_owned()];
    head.extend(columns.iter().flat_map(|(heading, ..)| [(*heading).to_owned(), "ratio".into()]));
    let is_judged = beside.rows.iter().any(|row| !row.ratios.is_empty());
    head.extend(is_judged.then(|| "accepted".to_owned()));
    let mut cells = vec![head];
    for row in &beside.rows {
        let mut line = vec![amounts.level(row.level)];
        for (_, name, scale, digits) in &columns {
            line.push(printed(&row.published.figures, name, *scale, *digits));
            let of = |point: &Point| point.figures.get(*name).copied();
            let ratio = of(&row.best).zip(of(&row.published).filter(|value| *value > 0.0));
            line.push(or_dash(ratio, |(own, printed)| format!("{:.2}", own / printed)));
        }
        if is_judged {
            let told = row.ratios.iter().map(|(at, holds)| {
                let bounds = acceptance::bounds(&beside.judged[*at].condition);
                format!("{bounds}: {}", acceptance::yes(*holds))
            });
            line.push(told.collect::<Vec<_>>().join(", "));
        }
        cells.push(line);
    }
    to_the_right(&cells)
}

fn printed(figures: &BTreeMap<String, f64>, name: &str, scale: f64, digits: usize) -> String {
    or_dash(figures.get(name).copied(), |value| format!("{:.digits$}", value / scale))
}

fn or_dash<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

#[cfg(test)]
mod tests {
    use analysis::published::{Condition, ConditionKind};
    use analysis::sweep::{Settings, find};

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
        let beside = Beside::new(&own, &found, &table, &conditions);
        let view = ProgramRunView {
            place: "simulated sparcstation1 of 24M, hat old".to_owned(),
            program: "vmtest, 2M a process".to_owned(),
            seeds: vec![1, 2],
            curve: &own,
            found: &found,
            beside: Some(("A table\nFrom: somebody, 1990".to_owned(), &beside)),
            least_rise: 1.5,
        };
        insta::assert_snapshot!(program_run_text(&view), @r"
        simulated sparcstation1 of 24M, hat old
        vmtest, 2M a process, seeds 1..2, the fastest run of each level; median and max are elapsed times of all

        memory  relative speed  elapsed s  median  max  user s  system s  faults  swap-ins
            2M            1.00        3.5     3.5  3.5     0.5       3.0    1224         -
            4M            1.09        6.4     7.7  9.0     0.5       5.9    1840         -

        A table
        From: somebody, 1990

        memory  elapsed s  ratio  user s  ratio  system s  ratio  faults  ratio                                   accepted
            2M        3.1   1.11     0.5   1.00       3.0   1.00    1224   1.00  within 5 %: no, within a factor of 2: yes
            4M        5.8   1.11     0.5   1.00       5.9   1.00    1840   1.00  within 5 %: no, within a factor of 2: yes

        elapsed within 5 % of the published, 2M to 4M: no at 2M, 4M (1.11)
        user within a factor of 2 of the published, 2M to 4M: yes (1.00)
        translation faults a second from 200 to 400, 2M to 4M together: yes (309)
        translation faults at 4M over those at 2M at least 50: no at 4M (2)
        no translation faults in any run, 2M to 4M: no at 2M, 4M (1224 to 3000)
        knee between 2M and 4M: no (there is none)
        Not accepted: 4 of 6 conditions missed.

        It cannot be told whether there is a knee: 2 levels: a knee needs 4 or more.
        ");
    }
}
