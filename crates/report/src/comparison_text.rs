//! A comparison as text: first how the systems differ, then the numbers, then what they mean.

mod cells;
mod footnotes;
mod numbers;

use ::analysis::comparison::{Comparison, Difference};

use crate::columns::aligned;

/// Most values a side that are shown one by one.
const FEW: usize = 12;

/// The whole comparison: differences between the systems, the trials if there are few, a row a
/// cell, stalls, seeds, footnotes, and one sentence. Ends in a newline.
#[must_use]
pub fn comparison_text(comparison: &Comparison) -> String {
    let view = View { comparison };
    let mut blocks = vec![view.heading(), view.differences()];
    blocks.extend(view.trials());
    blocks.push(cells::verdicts(&view));
    blocks.extend(cells::stalls(&view));
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
        let arms = self.comparison.arms.iter();
        match &self.comparison.factor {
            Some(factor) => {
                let levels: Vec<String> =
                    arms.map(|arm| format!("{} ({} trials)", arm.name, arm.trials)).collect();
                format!(
                    "Comparison of {factor} in {}: {}\n",
                    self.comparison.inputs.join(", "),
                    levels.join(", ")
                )
            }
            None => {
                let lines = arms.enumerate().map(|(index, arm)| {
                    let plural = if arm.trials == 1 { "" } else { "s" };
                    format!("{}: {}, {} trial{plural}\n", self.arm(index), arm.name, arm.trials)
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

    /// The values one by one, as RFC-17 of Project MAC printed them, if there is one cell an arm
    /// and it has few values.
    fn trials(&self) -> Option<String> {
        let Comparison { arms, cells, .. } = self.comparison;
        let first = cells.first()?;
        let few = cells.len() == arms.len() - 1
            && cells.iter().all(|cell| {
                cell.first.values.len().max(cell.second.values.len()) <= FEW
                    && cell.first.values == first.first.values
            });
        if !few {
            return None;
        }
        let unit = &self.comparison.responses[&first.response].unit;
        let number = |value: Option<&f64>| {
            value.map_or_else(String::new, |value| numbers::value(*value, unit))
        };
        let sides: Vec<_> =
            std::iter::once(&first.first).chain(cells.iter().map(|cell| &cell.second)).collect();
        let mut rows = vec![vec![first.response.clone()]];
        rows[0].extend((0..arms.len()).map(|index| self.arm(index)));
        let most = sides.iter().map(|side| side.values.len()).max().unwrap_or(0);
        for index in 0..most {
            let mut row = vec![format!("{}", index + 1)];
            row.extend(sides.iter().map(|side| number(side.values.get(index))));
            rows.push(row);
        }
        let mut medians = vec!["median".to_owned()];
        medians.extend(sides.iter().map(|side| number(Some(&side.median))));
        rows.push(medians);
        Some(aligned(&rows))
    }
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
