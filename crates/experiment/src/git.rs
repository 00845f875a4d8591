//! Questions to git(1) about a repository.

use std::path::Path;
use std::process::Command;

/// The lines that a git command prints. The error is its complaint.
pub(crate) fn git(repo: &Path, arguments: &[&str]) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(repo)
        .args(arguments)
        .output()
        .map_err(|error| format!("start git: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// The full name of a revision's commit. The error names the revision.
pub(crate) fn commit(repo: &Path, revision: &str) -> Result<String, String> {
    let name = format!("{revision}^{{commit}}");
    let found = git(repo, &["rev-parse", "--verify", "--end-of-options", &name]);
    let found = found.map_err(|why| match why.contains("Needed a single revision") {
        true => format!(
            "git {revision}: no branch, tag or commit has this name; `git log --oneline --decorate` \
             lists them"
        ),
        false => format!("git {revision}: {why}"),
    })?;
    found.into_iter().next().ok_or_else(|| format!("git {revision}: no such commit"))
}
