//! A diagnosis on one screen: the most costly findings in a few lines each, and how many others.

use doctor::{Diagnosis, Finding, Scope};
use render::{Block, Document, Section};

use super::{code_lines, heading, price_text, scope_text, severity_word};

/// Findings with their figures; the first one has what to do about it, too.
const MOST_FINDINGS: usize = 2;
/// Letters of a control group's path in a heading.
const LONGEST_PATH: usize = 32;

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
    let title = format!("{number}. {}", title(finding, LONGEST_PATH));
    Section::new(&format!("finding-{number}"), &title, vec![Block::Notes(lines)])
}

/// `minor-faults: severe, process 17 (f)`, with at most so many letters of a group's path, the last ones.
pub(super) fn title(finding: &Finding, longest_path: usize) -> String {
    let (severity, _) = severity_word(finding.severity());
    let scope = match &finding.scope {
        Scope::Group(path) if path.chars().count() > longest_path => {
            let first = path.chars().count() - longest_path + 1;
            let last = path.char_indices().nth(first).map_or(0, |(at, _)| at);
            Scope::Group(format!("…{}", &path[last..]))
        }
        other => other.clone(),
    };
    format!("{}: {severity}, {}", finding.rule, scope_text(&scope))
}
