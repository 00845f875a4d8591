//! Skipped tests against the list of those that may be skipped.

use crate::pattern;

/// The skips, lines of `name: reason`, that no line of `allowed` allows.
///
/// # Errors
/// When a line has another form.
pub(crate) fn findings(skipped: &str, allowed: &str) -> Result<Vec<String>, String> {
    let mut patterns = Vec::new();
    for line in allowed.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        patterns.push(halves(line)?);
    }
    let mut findings = Vec::new();
    for line in skipped.lines() {
        let (name, reason) = halves(line)?;
        let is_allowed = patterns.iter().any(|(name_pattern, reason_pattern)| {
            pattern::matches(name_pattern, name) && pattern::matches(reason_pattern, reason)
        });
        if !is_allowed {
            findings.push(format!("not in tests/allowed-skips.txt, but skipped: {name}: {reason}"));
        }
    }
    Ok(findings)
}

fn halves(line: &str) -> Result<(&str, &str), String> {
    line.split_once(": ").ok_or_else(|| format!("not `test-name: reason`: {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: &str = "# why\n\nsandbox::*: no cgroup * can be created\n";

    #[test]
    fn a_skip_is_allowed_for_its_reason_only() {
        let fine = "sandbox::limits: no cgroup v2 can be created\n";
        assert_eq!(findings(fine, ALLOWED), Ok(Vec::new()));
        let other = "sandbox::limits: the moon is full\n";
        assert_eq!(
            findings(other, ALLOWED).unwrap(),
            ["not in tests/allowed-skips.txt, but skipped: sandbox::limits: the moon is full"]
        );
    }

    #[test]
    fn a_test_that_is_not_listed_is_found() {
        assert_eq!(findings("other: no cgroup v2 can be created\n", ALLOWED).unwrap().len(), 1);
    }

    #[test]
    fn a_line_without_reason_is_an_error() {
        assert!(findings("sandbox::limits\n", ALLOWED).is_err());
        assert!(findings("", "sandbox::limits\n").is_err());
    }
}
