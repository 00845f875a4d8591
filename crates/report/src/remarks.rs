//! What a reader must know of the runs; of what was unavailable, only what costs the reader a figure
//! or an explanation.

use analysis::Remarks;
use render::Block;

/// Facts of the machine's description, of which no figure depends.
const DESCRIPTION: &str = "environment.";
/// Capabilities that no figure or explanation in the tables is taken from.
const WITHOUT_EFFECT: [&str; 3] = ["psi/irq", "memcg", "load_task_stat"];
/// A capability, and the one without which it cannot be there either.
const FOLLOWS: (&str, &str) = ("taskstats", "delay accounting");

/// What stands below a table: its own notes, warnings, and what was unavailable; with `verbose` all
/// of that.
pub(crate) fn remarks(mut notes: Vec<String>, remarks: &Remarks, verbose: bool) -> Vec<Block> {
    notes.extend(remarks.warnings.iter().map(|warning| format!("warning: {warning}")));
    let mut unavailable = unavailable_notes(&remarks.missed, verbose).into_iter();
    notes.extend(unavailable.next());
    let unavailable = Block::List(unavailable.collect());
    vec![Block::Notes(notes), unavailable]
}

fn unavailable_notes(all: &[String], verbose: bool) -> Vec<String> {
    let is_there = |name: &str| all.iter().any(|text| capability(text) == name);
    let matters = |text: &&String| {
        let name = capability(text);
        let follows = name == FOLLOWS.0 && is_there(FOLLOWS.1);
        verbose || !(name.starts_with(DESCRIPTION) || WITHOUT_EFFECT.contains(&name) || follows)
    };
    let shown: Vec<&String> = all.iter().filter(matters).collect();
    let hidden = all.len() - shown.len();
    let mut notes = Vec::new();
    if !shown.is_empty() {
        notes.push(format!("Not available here ({}; {hidden} more with -v):", shown.len()));
        if hidden == 0 {
            notes[0] = format!("Not available here ({}):", shown.len());
        }
        notes.extend(shown.iter().map(|text| (*text).clone()));
    }
    notes
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
        let brief = unavailable_notes(&all(), false);
        assert_eq!(brief.len(), 2, "{brief:?}");
        assert_eq!(brief[0], "Not available here (1; 3 more with -v):");
        assert!(brief[1].starts_with("delay accounting: "), "{brief:?}");
        let verbose = unavailable_notes(&all(), true);
        assert_eq!(verbose[0], "Not available here (4):");
        assert_eq!(verbose.len(), 5);
        assert_eq!(unavailable_notes(&all()[1..2], false), [""; 0]);
    }

    #[test]
    fn delays_that_only_this_process_cannot_read_are_listed() {
        let notes = unavailable_notes(&all()[2..3], false);
        assert!(notes[1].contains("taskstats"), "{notes:?}");
    }
}
