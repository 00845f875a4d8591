//! What a change is to be put down to.

use super::charts_of;
use crate::attribution_text::{attribution_text, conclusions};
use crate::charts::Data;
use render::{Block, Section};

/// The charts and sentences of all experiments.
pub(super) fn section(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "attribution");
    for attribution in data.material.inputs.iter().filter_map(|input| input.attribution.as_ref()) {
        blocks.push(Block::List(conclusions(attribution)));
        let full = attribution_text(attribution);
        blocks.push(Block::Folded("All that thrashlab attribute says".to_owned(), full));
    }
    super::section("attribution", "What it is to be put down to", blocks)
}
