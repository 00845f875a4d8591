//! Curves, knees, and what lies under them.

use super::charts_of;
use crate::charts::Data;
use crate::sweep_text::{Amounts, knee_sentence, other_sentences, sweep_text};
use render::{Block, Section};

/// The charts and sentences of all sweeps.
pub(super) fn section(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "sweep");
    for view in data.material.inputs.iter().filter_map(|input| input.sweep.as_ref()) {
        let mut sentences = Vec::new();
        for row in &view.rows {
            let label =
                if row.label.is_empty() { String::new() } else { format!("{}: ", row.label) };
            sentences
                .push(format!("{label}{}", knee_sentence(row.curve, &row.found, view.least_rise)));
            sentences.extend(other_sentences(&row.found, &Amounts::of(row.curve)));
            let conclusion = row.found.moved.as_ref().and_then(|moved| moved.conclusion.clone());
            sentences.extend(conclusion.map(|text| format!("What lies under it: {text}.")));
        }
        blocks.push(Block::List(sentences));
        blocks.push(Block::Folded("All that thrashlab sweep says".to_owned(), sweep_text(view)));
    }
    super::section("sweep", "The cliff", blocks)
}
