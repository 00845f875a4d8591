//! A comparison as text: first how the systems differ, then the numbers, then what they mean.

mod cells;
mod explained;
mod footnotes;
mod numbers;
mod overall;

use analysis::comparison::{Cell, Comparison, Difference};
use model::Observation;
pub(crate) use numbers::interval_of;
pub(crate) use overall::judged_by;

use crate::columns::aligned;

/// Most values a side that are shown one by one.
const FEW: usize = 12;
/// Most rows of values that are shown.
const FEW_ROWS: usize = 40;

/// The whole comparison: differences between the systems, the trials if there are few, a row a
/// cell, the effect over all cells, stalls, what differences of delays consist of, seeds, footnotes, and one sentence. Ends in a newline.
#[must_use]
pub fn comparison_text(comparison: &Comparison) -> String {
    let view = View { comparison };
    let mut blocks = vec![view.heading(), view.differences()];
    blocks.extend(view.trials());
    blocks.push(cells::verdicts(&view));
    blocks.extend(overall::overall(&view));
    blocks.extend(cells::stalls(&view));
    blocks.extend(explained::explained(&view));
    blocks.extend(cells::seeds(&view));
    blocks.push(format!("{}\n", comparison.conclusion));
    blocks.push(footnotes::footnotes(&view));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n")
}

/// A comparison and how its arms are named in the heads of columns.
struct View<'a> {
    comparison: &'a Comparison,
}

impl View<'_> {
    /// The name of an arm in the head of a column: a level's own, or the letter of an input.
    fn arm(&self, index: usize) -> String {
        match &self.comparison.factor {
            Some(_) => self.comparison.arms[index].name.clone(),
            None => char::from_u32('A' as u32 + index as u32).unwrap_or('?').to_string(),
        }
    }

    fn several_arms(&self) -> bool {
        self.comparison.arms.len() > 2
    }

    fn heading(&self) -> String {
        let arms = || self.comparison.arms.iter();
        let count = |trials: usize| match trials {
            1 => "1 trial".to_owned(),
            several => format!("{several} trials"),
        };
        match &self.comparison.factor {
            Some(factor) => {
                let levels: Vec<String> =
                    arms().map(|arm| format!("{} ({})", arm.name, count(arm.trials))).collect();
                let inputs = self.comparison.inputs.join(", ");
                format!("Comparison of {factor} in {inputs}: {}\n", levels.join(", "))
            }
            None => {
                let lines = arms().enumerate().map(|(index, arm)| {
                    format!("{}: {}, {}\n", self.arm(index), arm.name, count(arm.trials))
                });
                format!("Comparison\n{}", lines.collect::<String>())
            }
        }
    }

    /// How the systems differ, as far as it was recorded.
    fn differences(&self) -> String {
        let Comparison { arms, differences, not_recorded, .. } = self.comparison;
        let mut text = String::new();
        if differences.is_empty() {
            text.push_str("The systems differ in no fact that was recorded.\n");
        } else {
            let mut rows = vec![vec!["differs".to_owned()]];
            rows[0].extend((0..arms.len()).map(|index| self.arm(index)));
            rows[0].push(String::new());
            rows.extend(differences.iter().map(difference));
            text.push_str(&aligned(&rows));
        }
        if !not_recorded.is_empty() {
            text.push_str(&format!("Not recorded: {}.\n", not_recorded.join(", ")));
        }
        text
    }

    /// The values one by one, as RFC-17 of Project MAC printed them, if they are few: a table a
    /// response, with a row a trial and a column an arm.
    fn trials(&self) -> Vec<String> {
        let few = |cell: &Cell| cell.first.values.len().max(cell.second.values.len()) <= FEW;
        let one = |cell: &Cell| cell.first.values.len().max(cell.second.values.len()) <= 1;
        let cells = &self.comparison.cells;
        if !cells.iter().all(few) || cells.iter().all(one) {
            return Vec::new();
        }
        let tables = self.comparison.responses.keys().filter_map(|response| self.values(response));
        let tables: Vec<String> = tables.collect();
        let lines: usize = tables.iter().map(|table| table.lines().count()).sum();
        if lines <= FEW_ROWS { tables } else { Vec::new() }
    }

    /// The values of one response; `None` if there are none, or if arms share no reference.
    fn values(&self, response: &str) -> Option<String> {
        let Comparison { arms, cells, responses, .. } = self.comparison;
        let unit = &responses[response].unit;
        let of_response = || cells.iter().filter(|cell| cell.response == response);
        let mut places: Vec<&Cell> = Vec::new();
        for cell in of_response() {
            match places.iter().find(|place| same_place(place, cell)) {
                // Pairs may leave out other trials of the reference for each arm.
                Some(place) if place.first.values != cell.first.values => return None,
                Some(_) => {}
                None => places.push(cell),
            }
        }
        let labelled = places.len() > 1;
        let mut head = vec![response.to_owned()];
        head.extend(labelled.then(|| "trial".to_owned()));
        head.extend((0..arms.len()).map(|index| self.arm(index)));
        let mut rows = vec![head];
        for place in &places {
            let mut sides: Vec<&[Observation]> = vec![&place.first.values];
            sides.extend((1..arms.len()).map(|arm| {
                let cell = of_response().find(|cell| cell.arm == arm && same_place(place, cell));
                cell.map_or(&[][..], |cell| cell.second.values.as_slice())
            }));
            let most = sides.iter().map(|values| values.len()).max().unwrap_or(0);
            for index in 0..most {
                let label = match (index, &*place.label(), &place.part) {
                    (0, "", _) | (0, _, None) if place.levels.is_empty() => "whole".to_owned(),
                    (0, label, _) => label.to_owned(),
                    _ => String::new(),
                };
                let mut row: Vec<String> = labelled.then_some(label).into_iter().collect();
                row.push((index + 1).to_string());
                row.extend(sides.iter().map(|values| {
                    values
                        .get(index)
                        .map_or_else(String::new, |value| numbers::observed(Some(value), unit))
                }));
                rows.push(row);
            }
        }
        (rows.len() > 1).then(|| aligned(&rows))
    }
}

fn same_place(first: &Cell, second: &Cell) -> bool {
    first.levels == second.levels && first.part == second.part
}

fn difference(difference: &Difference) -> Vec<String> {
    let mut row = vec![difference.fact.clone()];
    row.extend(difference.values.iter().map(|values| match values.len() {
        0 => "not recorded".to_owned(),
        1..=3 => values.join(" | "),
        several => format!("{} | … ({several} values)", values[0]),
    }));
    row.push(if difference.compared { "compared".to_owned() } else { String::new() });
    row
}
