//! The profile of a run on this machine, as it is kept next to the run's file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::run_paths::beside;
use crate::{Area, CallStacks, Part, SampledProfile, StackTree, TaskTime};

/// How the names of the files of profiles end.
const PROFILE: &str = ".profile.json";

/// The profile of what a run measured: a command, or a service with its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunProfile {
    /// The name of the run.
    pub run_id: String,
    /// Samples a second of CPU time.
    pub frequency_hz: u64,
    /// The profile.
    pub profile: SampledProfile,
}

/// How it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    run_id: String,
    frequency_hz: u64,
    started_unix_ns: u64,
    elapsed_ns: u64,
    tasks: Vec<TaskTime>,
    samples: u64,
    truncated: u64,
    faults: Option<u64>,
    fault_samples: u64,
    lost: Option<u64>,
    records: u64,
    is_outside_kernel: bool,
    missed: Vec<String>,
    /// The call stacks, callers first: the number of the caller, the function, and on whose behalf it
    /// executes.
    stacks: Vec<(Option<u32>, String, Area)>,
    /// The number of a call stack, a part, its amount there, and how often it was seen.
    counts: Vec<(u32, Part, u64, u64)>,
}

impl RunProfile {
    /// The file with the profile of the run with this file; `None` if it is not named as a run file.
    pub fn beside(run_file: &Path) -> Option<PathBuf> {
        beside(run_file, PROFILE)
    }

    /// The text of such a file.
    pub fn text(&self) -> String {
        let Self { run_id, frequency_hz, profile } = self;
        let stack =
            |node| (profile.parent(node), profile.name(node).to_owned(), profile.area(node));
        let of_part = |part| {
            let counts = profile.counts(part);
            let all = profile.nodes().zip(counts.own.iter().zip(&counts.entries));
            all.filter(|(_, (own, seen))| **own + **seen > 0)
                .map(move |(node, (own, seen))| (node, part, *own, *seen))
        };
        let written = Written {
            run_id: run_id.clone(),
            frequency_hz: *frequency_hz,
            started_unix_ns: profile.started_unix_ns,
            elapsed_ns: profile.elapsed_ns,
            tasks: profile.tasks.clone(),
            samples: profile.samples,
            truncated: profile.truncated,
            faults: profile.faults,
            fault_samples: profile.fault_samples,
            lost: profile.lost,
            records: profile.records,
            is_outside_kernel: profile.is_outside_kernel,
            missed: profile.missed.clone(),
            stacks: profile.nodes().map(stack).collect(),
            counts: Part::ALL.into_iter().flat_map(of_part).collect(),
        };
        // JSON can express all of it.
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// Reads the text of such a file. Fails for another text, with the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let written: Written = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut tree = StackTree::default();
        let mut nodes = Vec::with_capacity(written.stacks.len());
        for (number, (caller, name, area)) in written.stacks.iter().enumerate() {
            let of_caller = caller.map(|caller| nodes.get(caller as usize).copied());
            let unknown = || format!("call stack {number}: its caller does not come before it");
            let of_caller = of_caller.map(|it| it.ok_or_else(unknown)).transpose()?;
            nodes.push(tree.node(of_caller, name, *area));
        }
        let count = |(stack, part, amount, seen): (u32, Part, u64, u64)| {
            let node = nodes.get(stack as usize).copied();
            let unknown = || format!("there is no call stack {stack}");
            Ok::<_, String>((node.ok_or_else(unknown)?, part, amount, seen))
        };
        let sums = written.counts.iter().try_fold([0_u64; 2], |[all, seen], it| {
            Some([all.checked_add(it.2)?, seen.checked_add(it.3)?])
        });
        sums.ok_or("its counts are too large")?;
        let counts = written.counts.into_iter().map(count).collect::<Result<Vec<_>, _>>()?;
        let mut profile = SampledProfile::new(tree, counts);
        profile.started_unix_ns = written.started_unix_ns;
        profile.elapsed_ns = written.elapsed_ns;
        profile.tasks = written.tasks;
        (profile.samples, profile.truncated) = (written.samples, written.truncated);
        (profile.faults, profile.fault_samples) = (written.faults, written.fault_samples);
        (profile.lost, profile.records) = (written.lost, written.records);
        profile.is_outside_kernel = written.is_outside_kernel;
        profile.missed = written.missed;
        Ok(Self { run_id: written.run_id, frequency_hz: written.frequency_hz, profile })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn profile() -> RunProfile {
        let mut tree = StackTree::default();
        let root = tree.node(None, "app", Area::User);
        let inner = tree.node(Some(root), "reads_keys [app]", Area::User);
        let times =
            [(inner, Part::OnCpu, 7, 1), (root, Part::Waits, 9, 2), (inner, Part::Faults, 3, 3)];
        let mut profile = SampledProfile::new(tree, times);
        (profile.elapsed_ns, profile.faults, profile.missed) = (20, Some(3), vec!["x".to_owned()]);
        RunProfile { run_id: "01-x".to_owned(), frequency_hz: 997, profile }
    }

    #[test]
    fn a_profile_is_read_again_as_it_was_written() {
        let made = profile();
        assert_eq!(RunProfile::parse(&made.text()), Ok(made.clone()));
        assert_eq!(made.profile.fault_sum(), Some(3));
        let file = RunProfile::beside(Path::new("a/01-x.run.jsonl"));
        assert_eq!(file.as_deref(), Some(Path::new("a/01-x.profile.json")));
        assert_eq!(RunProfile::beside(Path::new("other.txt")), None);
    }

    #[test]
    fn damaged_files_are_refused_with_the_reason() {
        let text = profile().text();
        for (from, to, reason) in [
            ("[0,\"reads", "[5,\"reads", "call stack 1"),
            ("[1,\"on-cpu\"", "[9,\"on-cpu\"", "no call stack 9"),
            ("\"on-cpu\",7", "\"on-cpu\",18446744073709551615", "too large"),
            ("{", "", "line 1"),
        ] {
            let damaged = text.replacen(from, to, 1);
            assert_ne!(damaged, text, "{from}");
            let why = RunProfile::parse(&damaged).unwrap_err();
            assert!(why.contains(reason), "{reason}: {why}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            let _ = RunProfile::parse(&text);
        }
    }
}
