//! Remarks on runs; unavailable capabilities only if a figure or an explanation depends on them.

use analysis::Remarks;
use render::Block;

/// Notes of a result on one screen.
const MOST_NOTES: usize = 3;
/// Prefix of facts that only describe the machine.
const DESCRIPTION: &str = "environment.";
/// Capabilities that no table depends on.
const WITHOUT_EFFECT: [&str; 3] = ["psi/irq", "memcg", "load_task_stat"];
/// A capability, and the one that it depends on.
const FOLLOWS: (&str, &str) = ("taskstats", "delay accounting");

/// The notes of a table, warnings, and unavailable capabilities, with `verbose` all of them.
pub(crate) fn remarks(mut notes: Vec<String>, remarks: &Remarks, verbose: bool) -> Vec<Block> {
    notes.extend(remarks.warnings.iter().map(|warning| format!("warning: {warning}")));
    let (heading, unavailable) = unavailable(&remarks.missed, verbose);
    notes.extend(heading);
    vec![Block::Notes(notes), Block::List(unavailable)]
}

/// The first notes and warnings, for a result on one screen.
pub(crate) fn most_important(mut notes: Vec<String>, remarks: &Remarks) -> Block {
    notes.extend(remarks.warnings.iter().map(|warning| format!("warning: {warning}")));
    let more = cut(&mut notes, MOST_NOTES);
    notes.extend(more);
    let lost: Vec<&str> = that_matter(&remarks.missed).map(|text| capability(text)).collect();
    if !lost.is_empty() {
        notes.push(format!("Not available here: {} (why: --details).", lost.join(", ")));
    }
    Block::Notes(notes)
}

/// Leaves the first notes; returns where the others are, if there are more.
pub(crate) fn cut(notes: &mut Vec<String>, most: usize) -> Option<String> {
    let more = notes.len().saturating_sub(most);
    notes.truncate(most);
    (more > 0).then(|| format!("{} with --details.", render::format::counted(more, "more note")))
}

pub(crate) fn skipped(remarks: &Remarks) -> impl Iterator<Item = Block> {
    remarks.skipped.iter().map(|(load, reason)| format!("{load} skipped: {reason}").into())
}

fn unavailable(all: &[String], verbose: bool) -> (Option<String>, Vec<String>) {
    let shown: Vec<String> = match verbose {
        true => all.to_vec(),
        false => that_matter(all).cloned().collect(),
    };
    let heading = match (shown.len(), all.len() - shown.len()) {
        (0, _) => None,
        (count, 0) => Some(format!("Not available here ({count}):")),
        (count, hidden) => Some(format!("Not available here ({count}; {hidden} more with -v):")),
    };
    (heading, shown)
}

/// The unavailable capabilities that a figure or an explanation depends on.
fn that_matter(all: &[String]) -> impl Iterator<Item = &String> {
    let is_without_accounting = all.iter().any(|text| capability(text) == FOLLOWS.1);
    all.iter().filter(move |text| {
        let name = capability(text);
        let follows = name == FOLLOWS.0 && is_without_accounting;
        !(name.starts_with(DESCRIPTION) || WITHOUT_EFFECT.contains(&name) || follows)
    })
}

/// The capability of a `CAPABILITY: REASON`.
fn capability(text: &str) -> &str {
    text.split_once(": ").map_or(text, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<String> {
        [
            "delay accounting: kernel.task_delayacct cannot be switched: Permission denied",
            "psi/irq: cannot open /proc/pressure/irq",
            "taskstats: kernel.task_delayacct is 0",
            "environment.governor: cannot read scaling_governor",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    #[test]
    fn only_what_costs_the_reader_something_is_listed_unless_all_is_wanted() {
        let (heading, brief) = unavailable(&all(), false);
        assert_eq!(heading.unwrap(), "Not available here (1; 3 more with -v):");
        assert_eq!(brief, all()[..1]);
        let (heading, verbose) = unavailable(&all(), true);
        assert_eq!(heading.unwrap(), "Not available here (4):");
        assert_eq!(verbose, all());
        assert_eq!(unavailable(&all()[1..2], false), (None, Vec::new()));
    }

    #[test]
    fn one_line_names_what_was_lost_where_the_result_is_short() {
        let remarks = Remarks { missed: all(), ..Remarks::default() };
        let Block::Notes(notes) = most_important(Vec::new(), &remarks) else { panic!("no notes") };
        assert_eq!(notes, ["Not available here: delay accounting (why: --details)."]);
    }

    #[test]
    fn delays_that_only_this_process_cannot_read_are_listed() {
        let (_, notes) = unavailable(&all()[2..3], false);
        assert!(notes[0].contains("taskstats"), "{notes:?}");
    }
}
