//! A comparison of two levels that was looked at as it grew, as a document.

use analysis::ab::AbLook;
use render::{Block, Document, Tone, Verdict, format};

use crate::comparison::{brief_table, comparison_document, conclusion, important_notes, letters};

/// The comparison at its last look, why it ended there, and what its interval stands for; `alpha`
/// is the chance of a wrong verdict over all looks.
pub fn ab_document(look: &AbLook, alpha: f64) -> Document<'_> {
    let mut document = comparison_document(&look.comparison);
    document.verdicts.push(Verdict { text: look.reason(), tone: Tone::Plain });
    if let Some(second) = &look.second {
        let second = comparison_document(second);
        document.verdicts.extend(second.verdicts);
        document.blocks.extend(second.blocks);
    }
    document.push(Block::Notes(vec![look.interval_words(alpha)]));
    document.with_brief(brief(look, alpha)).with_data(look)
}

/// The verdict, the figures it rests on, and what changes its meaning.
fn brief(look: &AbLook, alpha: f64) -> Document<'static> {
    let tone = conclusion(&look.comparison).tone;
    let verdicts = vec![Verdict { text: look.sentence(), tone }];
    let facts = letters(&look.comparison);
    let mut table = brief_table(&look.comparison);
    if let Some(second) = &look.second {
        table.rows.extend(brief_table(second).rows);
    }
    let mut notes = important_notes(&look.comparison);
    notes.push(format!(
        "{} A verdict is wrong with a chance of at most {}.",
        look.reason(),
        format::percent(alpha)
    ));
    let blocks = vec![table.into(), Block::Notes(notes)];
    Document { verdicts, facts, blocks, ..Document::default() }
}
