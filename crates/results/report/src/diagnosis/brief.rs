//! A diagnosis on one screen: the most costly findings in a few lines each, and how many others.

use doctor::{Diagnosis, Finding, Scope};
use render::{Block, Document, Section};

use super::{code_lines, heading, price_text, scope_text, severity_word};

/// Findings with their figures; the first one has what to do about it, too.
const MOST_FINDINGS: usize = 2;
/// Letters of a heading without its number and marks, so that it fits a line of 80.
const LONGEST_TITLE: usize = 70;

/// The first findings, what could not be judged, and where the rest is.
pub(super) fn brief(found: &Diagnosis, top: usize) -> Document<'static> {
    let most = top.min(MOST_FINDINGS);
    let mut sections: Vec<Section> =
        found.findings.iter().take(most).enumerate().map(section).collect();
    let more = found.findings.iter().skip(most).take(top.saturating_sub(most));
    let more: Vec<&str> = more.map(|finding| finding.rule).collect();
    let also = (!more.is_empty()).then(|| format!("Also: {}.", more.join(", ")));
    let mut notes = Vec::from_iter(also);
    notes.push(format!(
        "{} ruled out, {} not judged; evidence and confirming commands: --details.",
        found.ruled_out.len(),
        found.unable.len()
    ));
    if found.left_out.hides_processes {
        notes.push("Processes of others are hidden from this user (hidepid): be root.".to_owned());
    }
    let (mut blocks, notes) = (Vec::new(), Block::Notes(notes));
    match sections.last_mut() {
        Some(last) => last.blocks.push(notes),
        None => blocks.push(notes),
    }
    Document { verdicts: vec![heading(found, top)], blocks, sections, ..Document::default() }
}

fn section((index, finding): (usize, &Finding)) -> Section {
    let number = index + 1;
    let mut lines = vec![format!("{}: {}", finding.condition, price_text(&finding.price))];
    lines.extend(code_lines(&finding.code).into_iter().next());
    if index == 0 {
        lines.push(format!("Remedy: {}", finding.remedy));
    }
    let title = format!("{number}. {}", title(finding, LONGEST_TITLE));
    Section::new(&format!("finding-{number}"), &title, vec![Block::Notes(lines)])
}

/// `minor-faults: severe, process 17 (f)`, with at most so many letters: a longer path of a group loses its
/// first ones.
pub(super) fn title(finding: &Finding, most_letters: usize) -> String {
    let (severity, _) = severity_word(finding.severity());
    let with = |scope: &Scope| format!("{}: {severity}, {}", finding.rule, scope_text(scope));
    let whole = with(&finding.scope);
    let Scope::Group(path) = &finding.scope else { return whole };
    let excess = whole.chars().count().saturating_sub(most_letters);
    if excess == 0 {
        return whole;
    }
    // One more, for the sign that something is missing.
    let first = path.char_indices().nth(excess + 1).map_or(path.len(), |(at, _)| at);
    with(&Scope::Group(format!("…{}", &path[first..])))
}
