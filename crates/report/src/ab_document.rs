//! A comparison of two levels that was looked at as it grew, as a document.

use analysis::ab::AbLook;
use render::{Block, Document, Tone, Verdict};

use crate::comparison::comparison_document;

/// The comparison at its last look, why it ended there, and what its interval stands for; `alpha`
/// is the chance of a wrong verdict over all looks.
pub fn ab_document(look: &AbLook, alpha: f64) -> Document<'_> {
    let mut document = comparison_document(&look.comparison);
    document.verdicts.push(Verdict { text: look.reason(), tone: Tone::Plain });
    document.push(Block::Notes(vec![look.interval_words(alpha)]));
    document.with_data(look)
}
