//! What two or more results differ in.

use render::{Block, Section};

use super::charts_of;
use crate::charts::Data;
use crate::comparison::{blocks, legend};

/// All that `thrashlab compare` shows, with the charts.
pub(super) fn section(data: &Data<'_>) -> Option<Section> {
    let comparison = data.material.comparison.as_ref()?;
    let arms: Vec<String> =
        legend(comparison).iter().map(|(arm, text)| format!("{arm}: {text}")).collect();
    let mut all = vec![Block::Notes(arms)];
    all.extend(blocks(comparison, charts_of(data, "comparison")));
    super::section("comparison", "Comparison", all)
}
