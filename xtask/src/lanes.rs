//! Which tests a lane runs: `tests/slow.txt` names what only `make test-all` runs.

use crate::pattern;

/// A set of tests, by the time that it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The tests inside of crates, and one call of each command.
    Quick,
    /// All tests but the slow ones.
    Test,
    /// Every test.
    All,
}

impl Lane {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "quick" => Some(Self::Quick),
            "test" => Some(Self::Test),
            "all" => Some(Self::All),
            _ => None,
        }
    }
}

/// Binaries that the quick lane runs in part: the name, and what a test's name begins with.
const QUICK: [(&str, &str); 1] = [("system", "commands::")];

/// The slow tests: lines of `binary test: what covers it in make test`.
pub(crate) struct Slow<'a> {
    lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Slow<'a> {
    /// Reads the list. Fails with the line that has another form.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let parsed = lines.map(|line| {
            let (test, reason) = line.split_once(": ")?;
            let (binary, name) = test.split_once(' ')?;
            (!reason.trim().is_empty()).then_some((binary, name))
        });
        let wanted = "not `binary test: what covers it in make test`";
        let parsed: Option<Vec<_>> = parsed.collect();
        parsed.map(|lines| Self { lines }).ok_or_else(|| format!("tests/slow.txt: {wanted}"))
    }

    fn has(&self, binary: &str, test: &str) -> bool {
        let is_it = |(of, name): &(&str, &str)| *of == binary && pattern::matches(name, test);
        self.lines.iter().any(is_it)
    }

    /// Lines that name no test of these binaries, each with its tests.
    pub(crate) fn stale(&self, binaries: &[(String, Vec<String>)]) -> Vec<String> {
        let names = |(binary, name): &&(&str, &str)| {
            let tests = binaries.iter().find(|(known, _)| known == binary).map(|(_, tests)| tests);
            tests.is_none_or(|tests| !tests.iter().any(|test| pattern::matches(name, test)))
        };
        let stale = self.lines.iter().filter(names);
        stale.map(|(binary, name)| format!("tests/slow.txt: no test is {binary} {name}")).collect()
    }
}

/// Which tests of a binary a lane runs; `is_unit` for the tests inside of a crate.
pub(crate) fn chosen<'a>(
    lane: Lane,
    slow: &Slow<'_>,
    (binary, is_unit): (&str, bool),
    tests: &'a [String],
) -> Vec<&'a str> {
    let is_chosen = |test: &&str| match lane {
        Lane::All => true,
        Lane::Test => !slow.has(binary, test),
        Lane::Quick if is_unit => !slow.has(binary, test),
        Lane::Quick => QUICK.iter().any(|(of, begin)| *of == binary && test.starts_with(begin)),
    };
    tests.iter().map(String::as_str).filter(is_chosen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# why\n\nvm disks::*: cells::one\nxtask adding: tidy\n";

    fn tests() -> Vec<String> {
        ["disks::a", "cells::one"].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_lane_leaves_out_what_the_list_names() {
        let slow = Slow::parse(LIST).unwrap();
        assert_eq!(chosen(Lane::Test, &slow, ("vm", false), &tests()), ["cells::one"]);
        assert_eq!(chosen(Lane::All, &slow, ("vm", false), &tests()).len(), 2);
        assert_eq!(chosen(Lane::Quick, &slow, ("vm", false), &tests()).len(), 0);
        assert_eq!(chosen(Lane::Quick, &slow, ("stats", true), &tests()).len(), 2);
    }

    #[test]
    fn a_line_without_a_reason_or_without_a_test_is_found() {
        assert!(Slow::parse("vm disks::*\n").is_err());
        let slow = Slow::parse(LIST).unwrap();
        let stale = slow.stale(&[("vm".to_owned(), tests())]);
        assert_eq!(stale, ["tests/slow.txt: no test is xtask adding"]);
    }
}
