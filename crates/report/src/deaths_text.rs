//! What runs died of, with the kernel's last lines.

use std::collections::BTreeMap;

use model::{DeathRecord, Line, Run};

/// Each cause of death once: the runs that died of it, and the log of the first of them. Empty if
/// none died.
#[must_use]
pub fn deaths_text(runs: &[Run]) -> String {
    let mut causes: BTreeMap<&str, (Vec<&str>, &DeathRecord)> = BTreeMap::new();
    for run in runs {
        let name = run.header.as_ref().map_or("a run", |header| header.run_id.as_str());
        for line in &run.lines {
            if let Line::Death(death) = line {
                causes.entry(&death.cause).or_insert((Vec::new(), death)).0.push(name);
            }
        }
    }
    let mut text = String::new();
    for (cause, (names, death)) in causes {
        text += &format!("\n{} died: {cause}\n", names.join(", "));
        if !death.log.is_empty() {
            text += &format!("The last {} lines of {}'s kernel:\n", death.log.len(), names[0]);
        }
        for line in &death.log {
            text += &format!("  {line}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_stands_once_with_the_log_of_its_first_run() {
        let run = |log: &[&str]| Run {
            lines: vec![Line::Death(Box::new(DeathRecord {
                at_ns: 1,
                cause: "BUG: x".to_owned(),
                log: log.iter().map(|line| (*line).to_owned()).collect(),
            }))],
            ..Run::default()
        };
        let text = deaths_text(&[run(&["RIP: f+0x1", "Call Trace:"]), run(&["other"])]);
        assert_eq!(
            text,
            "\na run, a run died: BUG: x\nThe last 2 lines of a run's kernel:\n  RIP: f+0x1\n  Call Trace:\n"
        );
        assert_eq!(deaths_text(&[Run::default()]), "");
    }
}
