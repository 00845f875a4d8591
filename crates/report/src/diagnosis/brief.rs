//! A diagnosis on one screen: the most costly findings in a few lines each, and how many others.

use doctor::{Diagnosis, Finding};
use render::{Block, Document, Section};

use super::{code_text, heading, price_text, scope_text, severity_word};

/// Findings with all that one needs to act.
const MOST_FINDINGS: usize = 2;

/// The first findings, what could not be judged, and where the rest is.
pub(super) fn brief(found: &Diagnosis, top: usize) -> Document<'static> {
    let most = top.min(MOST_FINDINGS);
    let mut sections: Vec<Section> =
        found.findings.iter().take(most).enumerate().map(section).collect();
    let more = found.findings.iter().skip(most).take(top.saturating_sub(most));
    let mut notes: Vec<String> = more.map(line).collect();
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
    lines.extend(finding.code.first().map(code_text));
    lines.push(format!("Remedy: {}", finding.remedy));
    let title = format!("{number}. {}", title(finding));
    Section::new(&format!("finding-{number}"), &title, vec![Block::Notes(lines)])
}

/// `minor-faults: severe, process 17 (f)`.
pub(super) fn title(finding: &Finding) -> String {
    let (severity, _) = severity_word(finding.severity());
    format!("{}: {severity}, {}", finding.rule, scope_text(&finding.scope))
}

fn line(finding: &Finding) -> String {
    format!("{}, {}", title(finding), price_text(&finding.price))
}
