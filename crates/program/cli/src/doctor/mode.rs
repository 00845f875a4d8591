//! What the doctor does: one of several things, each with the options that have an effect on it.

use std::path::Path;

use clap::Arg;

use super::DoctorArgs;

/// What the doctor does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode<'a> {
    /// Lists the conditions that it knows.
    Rules,
    /// Measures what operations cost.
    Calibrate,
    /// Diagnoses a recording.
    Replay(&'a Path),
    /// Diagnoses runs, or published counters.
    From(&'a str),
    /// Serves metrics, or records into a folder of bounded size, until it is stopped.
    Forever,
    /// Watches a command.
    Command,
    /// Diagnoses everything since boot.
    SinceBoot,
    /// Watches this machine, once or again and again.
    Live,
}

/// How a result is printed, and how much of a diagnosis.
const RESULT: &[&str] = &["format", "output", "json"];
const FINDINGS: &[&str] = &["format", "output", "json", "top", "openmetrics"];

/// The options that choose what it does, each with those that have an effect then. Two of the first kind go
/// together only if one of them is in the lists of the other.
const CHOICES: [(&str, [&[&str]; 2]); 9] = [
    ("rules", [RESULT, &[]]),
    ("calibrate", [RESULT, &["work_dir"]]),
    ("replay", [FINDINGS, &["read_only", "watch", "at", "for_ns"]]),
    ("from", [FINDINGS, &["read_only"]]),
    ("serve", [&["max_size_bytes"], &["for_ns", "record", "top", "work_dir", "read_only"]]),
    ("max_size_bytes", [&["serve"], &["for_ns", "record", "top", "work_dir"]]),
    ("words", [FINDINGS, &["record", "work_dir"]]),
    ("since_boot", [FINDINGS, &["read_only", "work_dir"]]),
    ("watch", [FINDINGS, &["read_only", "work_dir", "record", "replay", "for_ns"]]),
];
/// The other options that are not for each of them.
const OTHERS: [&str; 6] = ["for_ns", "record", "at", "read_only", "no_stacks", "work_dir"];

/// Whether an option has an effect with the one that chooses what the doctor does.
fn has_effect(choice: &str, option: &str) -> bool {
    let chosen = CHOICES.iter().find(|(name, _)| *name == choice);
    chosen.is_some_and(|(_, lists)| lists.iter().any(|list| list.contains(&option)))
}

/// An option or the command, with those that it cannot be used with.
pub(super) fn with_conflicts(option: Arg) -> Arg {
    let id = option.get_id().as_str().to_owned();
    let is_choice = CHOICES.iter().any(|(choice, _)| *choice == id);
    if !is_choice && !OTHERS.contains(&&*id) && !FINDINGS.contains(&&*id) {
        return option;
    }
    let choices = CHOICES.iter().map(|(choice, _)| *choice);
    let excludes =
        |choice: &&str| *choice != id && !has_effect(choice, &id) && !has_effect(&id, choice);
    let excluded: Vec<&str> = choices.filter(excludes).collect();
    option.conflicts_with_all(excluded)
}

impl<'a> Mode<'a> {
    /// What the options choose. Of `--serve` and `--record` with `--max-size` both may be there.
    pub(super) fn of(args: &'a DoctorArgs) -> Self {
        match () {
            () if args.rules => Self::Rules,
            () if args.calibrate => Self::Calibrate,
            () if args.serve.is_some() || args.max_size_bytes.is_some() => Self::Forever,
            () if args.start.is_given() => Self::Command,
            () if args.since_boot => Self::SinceBoot,
            () => match (&args.replay, &args.from) {
                (Some(path), _) => Self::Replay(path),
                (None, Some(what)) => Self::From(what),
                (None, None) => Self::Live,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;

    fn command() -> Command {
        DoctorArgs::augment_args(Command::new("doctor"))
    }

    #[test]
    fn the_lists_name_options_that_exist() {
        let command = command();
        let known: Vec<&str> = command.get_arguments().map(|it| it.get_id().as_str()).collect();
        let lists = CHOICES.iter().flat_map(|(_, lists)| lists.iter().copied().flatten());
        let named = CHOICES.iter().map(|(choice, _)| choice).chain(lists);
        let unknown: Vec<&&str> = named.chain(&OTHERS).filter(|id| !known.contains(id)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn what_has_no_effect_is_refused_and_what_goes_together_is_not() {
        let refused = |text: &str| {
            let words = std::iter::once("doctor").chain(text.split_whitespace());
            command().try_get_matches_from(words).is_err()
        };
        for text in [
            "--rules --verbose",
            "--calibrate --work-dir x",
            "--replay x --at 14:32 --for 1m",
            "--replay x --watch",
            "--from x --top 3",
            "--serve",
            "--serve --record x --max-size 8M",
            "--since-boot --read-only",
            "--watch --record x",
            "--record x --json -- true",
            "--serve --read-only",
            "--for 1s --no-stacks --openmetrics -",
        ] {
            assert!(!refused(text), "{text}");
        }
        for text in [
            "--rules --calibrate",
            "--rules --record x",
            "--calibrate --for 1s",
            "--replay x --from y",
            "--replay x --record y",
            "--replay x --no-stacks",
            "--from x --watch",
            "--at 14:32",
            "--serve --json",
            "--serve --watch",
            "--max-size 8M",
            "--since-boot --record x",
            "--since-boot -- true",
            "--for 1s -- true",
            "--watch -- true",
            "--read-only -- true",
            "--replay x --at 14:32 --watch",
        ] {
            assert!(refused(text), "{text}");
        }
    }
}
