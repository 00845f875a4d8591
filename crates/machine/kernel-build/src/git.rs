//! Questions to git(1).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names and dates of commits that are made here, so that the same states have the same hashes.
const IDENTITY: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "thrashlab"),
    ("GIT_AUTHOR_EMAIL", "thrashlab@localhost"),
    ("GIT_AUTHOR_DATE", "@0 +0000"),
    ("GIT_COMMITTER_NAME", "thrashlab"),
    ("GIT_COMMITTER_EMAIL", "thrashlab@localhost"),
    ("GIT_COMMITTER_DATE", "@0 +0000"),
];

/// A repository, with an index and a folder of files of its own where they are named.
pub struct Git {
    folder: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
}

impl Git {
    /// The repository that a folder is in, as git finds it.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), variables: Vec::new() }
    }

    /// A repository without files, with this index.
    pub(crate) fn bare(repository: &Path, index: &Path) -> Self {
        let variables =
            vec![("GIT_DIR", repository.to_owned()), ("GIT_INDEX_FILE", index.to_owned())];
        Self { folder: repository.to_owned(), variables }
    }

    /// This repository, with files in this folder.
    pub(crate) fn with_files(mut self, files: &Path) -> Self {
        self.variables.push(("GIT_WORK_TREE", files.to_owned()));
        self.folder = files.to_owned();
        self
    }

    /// The lines that a command prints. The error is its complaint.
    pub fn lines(&self, arguments: &[&str]) -> Result<Vec<String>, String> {
        Ok(self.text(arguments, "")?.lines().map(str::to_owned).collect())
    }

    /// The only line that a command prints.
    pub(crate) fn line(&self, arguments: &[&str]) -> Result<String, String> {
        Ok(self.text(arguments, "")?.trim().to_owned())
    }

    /// What a command prints for this input. The error is its complaint.
    pub(crate) fn text(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(arguments).envs(IDENTITY);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let start = |error| format!("start git: {error}; is it installed?");
        let mut child = command.spawn().map_err(start)?;
        if let Some(mut pipe) = child.stdin.take() {
            // A command that does not read it says why.
            let _ = pipe.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(|error| format!("git: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }
}

/// A commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its hash.
    pub hash: String,
    /// The hash of its files.
    pub tree: String,
    /// The first line of its message.
    pub subject: String,
}

/// The commits of a range `GOOD..BAD` in history order, with the good end, along first parents. The
/// error says what is wrong with the range.
pub fn commits(repository: &Path, range: &str) -> Result<Vec<Commit>, String> {
    let (good, bad) = range.split_once("..").ok_or("it is not GOOD..BAD")?;
    let (git, good) = (Git::at(repository), commit(repository, good)?);
    let between = format!("{good}..{bad}");
    let log = ["log", "--reverse", "--first-parent", "--format=%H %T %s"];
    let mut lines =
        git.lines(&[&log[..], &["--max-count=1", "--end-of-options", &good]].concat())?;
    lines.extend(git.lines(&[&log[..], &["--end-of-options", &between]].concat())?);
    let parsed = lines.iter().map(|line| {
        let mut words = line.splitn(3, ' ').map(str::to_owned);
        Some(Commit {
            hash: words.next()?,
            tree: words.next()?,
            subject: words.next().unwrap_or_default(),
        })
    });
    Ok(parsed.flatten().collect())
}

/// The full name of a revision's commit. The error names the revision.
pub fn commit(repository: &Path, revision: &str) -> Result<String, String> {
    let name = format!("{revision}^{{commit}}");
    let found = Git::at(repository).line(&["rev-parse", "--verify", "--end-of-options", &name]);
    found.map_err(|why| match why.contains("Needed a single revision") {
        true => format!(
            "git {revision}: no branch, tag or commit has this name; `git log --oneline --decorate` \
             lists them"
        ),
        false => format!("git {revision}: {why}"),
    })
}
