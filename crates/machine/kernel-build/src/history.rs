//! The states of a source, as commits: those of a repository, those between two sources, and those
//! along a series of patches.
//!
//! Sources that are in no repository are entered in one of our own, in the cache. States are made in
//! its index, so no file is written for them, and equal states have equal hashes.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use keep::key_of;

use crate::build_run::BuildControl;
use crate::error::{BuildError, Result};
use crate::git::{Git, commits};
use crate::source::source;

/// The list of patches in a folder of them, in the order in which they are applied.
const SERIES: &str = "series";
/// The folders of the cache: sources that were unpacked, and repositories of our own.
const SOURCES: &str = "sources";
const REPOSITORIES: &str = "repositories";
/// A commit's name: characters of its hash, and of its first line.
const HASH_LENGTH: usize = 12;
const SUBJECT_LENGTH: usize = 48;
/// The part of a difference that is divided among all changes.
const FROM_AFAR: f64 = 0.1;
/// Files are compressed little, as they are read soon.
const COMPRESSION: &str = "core.looseCompression=1";

/// A state of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceState {
    /// The commit, the patch or the file with which it begins.
    pub name: String,
    /// Its commit.
    pub commit: String,
    /// The hash of its files.
    pub tree: String,
}

/// States in order, each with one change more than the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceHistory {
    /// The repository of the commits.
    pub repository: PathBuf,
    /// At least two.
    pub states: Vec<SourceState>,
}

impl SourceHistory {
    /// The commits `GOOD..BAD` of a repository, with the good one, along its first parents. Fails
    /// when there is no such range.
    pub fn of_git(repository: &Path, range: &str) -> Result<Self> {
        let wrong = |why: String| BuildError::Unusable(format!("{range}: {why}"));
        let mut states = Vec::new();
        for commit in commits(repository, range).map_err(wrong)? {
            let subject: String = commit.subject.chars().take(SUBJECT_LENGTH).collect();
            let hash = &commit.hash[..HASH_LENGTH.min(commit.hash.len())];
            let name = format!("{hash} {}", subject.trim());
            states.push(SourceState { name, commit: commit.hash, tree: commit.tree });
        }
        let path = Git::at(repository).line(&["rev-parse", "--absolute-git-dir"]).map_err(wrong)?;
        Self { repository: path.into(), states }.checked(range)
    }

    /// The states from a source along a series: a folder of patches with its list `series`, such a
    /// list, or another source, whose differences are taken file by file. Fails when one of them
    /// cannot be read, or a patch does not apply.
    pub fn of_series(
        first: &str,
        series: &str,
        cache_dir: &Path,
        control: &mut BuildControl<'_>,
    ) -> Result<Self> {
        let mut own = OwnRepository::of(first, cache_dir, control)?;
        let list = match Path::new(series) {
            folder if folder.join(SERIES).is_file() => Some(folder.join(SERIES)),
            file if file.is_file() && file.file_name().is_some_and(|name| name == SERIES) => {
                Some(file.to_owned())
            }
            _ => None,
        };
        match list {
            Some(list) => own.apply(&list)?,
            None => own.differences(&source(series, &cache_dir.join(SOURCES), control)?)?,
        }
        own.history.checked(series)
    }

    /// A source as its only state.
    pub fn of_source(text: &str, cache_dir: &Path, control: &mut BuildControl<'_>) -> Result<Self> {
        Ok(OwnRepository::of(text, cache_dir, control)?.history)
    }

    /// How likely the change of each state is the cause of a difference, from how much of it is in
    /// which functions: a function's part is divided among the changes whose text names it, and a
    /// tenth of all among all changes, as a change can act from afar. The value of the first state, which has no
    /// change, does not matter.
    pub fn likely(&self, functions: &[(String, f64)]) -> Result<Vec<f64>> {
        let git = Git::at(&self.repository);
        let count = self.states.len();
        let mut naming = vec![Vec::new(); functions.len()];
        for state in 1..count {
            let change = self.change(&git, state)?;
            let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
            let words: HashSet<&str> = change.split(|it| !is_of_name(it)).collect();
            for (states, (name, _)) in naming.iter_mut().zip(functions) {
                if words.contains(name.as_str()) {
                    states.push(state);
                }
            }
        }
        let all: f64 = functions.iter().map(|(_, part)| part).sum();
        let mut likely = vec![all * FROM_AFAR / count as f64; count];
        for (states, (_, part)) in naming.iter().zip(functions) {
            for state in states {
                likely[*state] += part / states.len() as f64;
            }
        }
        Ok(likely)
    }

    /// What a state changes in the one before it, as a patch.
    fn change(&self, git: &Git, state: usize) -> Result<String> {
        let (before, after) = (&self.states[state - 1].commit, &self.states[state].commit);
        let between = ["diff-tree", "-p", "--binary", before, after];
        git.text(&between, "").map_err(BuildError::Unusable)
    }

    /// The last state without the change of one; `None` if others depend on it.
    pub fn last_without(&self, state: usize, cache_dir: &Path) -> Result<Option<SourceState>> {
        let Some(last) = self.states.last() else { return Ok(None) };
        let scratch = tempfile::tempdir_in(cache_dir).map_err(BuildError::io(cache_dir))?;
        let git = Git::bare(&self.repository, &scratch.path().join("index"));
        let wrong = BuildError::Unusable;
        let change = self.change(&git, state)?;
        git.lines(&["read-tree", &last.commit]).map_err(wrong)?;
        let reverted = ["apply", "--cached", "--reverse", "--whitespace=nowarn", "-"];
        if git.text(&reverted, &change).is_err() {
            return Ok(None);
        }
        let name = format!("all without {}", self.states[state].name);
        enter(&git, name, Some(&last.commit)).map(Some)
    }

    fn checked(self, of: &str) -> Result<Self> {
        match self.states.len() {
            0 | 1 => Err(BuildError::Unusable(format!("{of}: nothing changes in it"))),
            _ => Ok(self),
        }
    }
}

/// Enters the index as a state of this name, after another commit if there is one.
fn enter(git: &Git, name: String, after: Option<&str>) -> Result<SourceState> {
    let tree = git.line(&["write-tree"]).map_err(BuildError::Unusable)?;
    let parents = after.map(|after| ["-p", after]);
    let parents = parents.as_ref().map_or(&[][..], |parents| &parents[..]);
    let arguments = [&["commit-tree", "-m", "state"], parents, &[&tree]].concat();
    let commit = git.line(&arguments).map_err(BuildError::Unusable)?;
    Ok(SourceState { name, commit, tree })
}

/// A repository in the cache with the states that were entered so far.
struct OwnRepository {
    /// The index of the state that is made.
    git: Git,
    folder: PathBuf,
    history: SourceHistory,
}

impl OwnRepository {
    /// A repository with a source as its first state. The second time only what changed is read.
    fn of(text: &str, cache_dir: &Path, control: &mut BuildControl<'_>) -> Result<Self> {
        let files = source(text, &cache_dir.join(SOURCES), control)?;
        let name = key_of(&[files.as_os_str().as_encoded_bytes()]);
        let folder = cache_dir.join(REPOSITORIES).join(&name[..16]);
        fs::create_dir_all(&folder).map_err(BuildError::io(&folder))?;
        let repository = folder.join("git");
        let wrong = |why: String| BuildError::Unusable(format!("{text}: {why}"));
        if !repository.join("HEAD").is_file() {
            let path = repository.to_string_lossy().into_owned();
            let made = Git::at(&folder).lines(&["init", "--quiet", "--bare", &path]);
            made.map_err(wrong)?;
        }
        control.say(&format!("reading {text}"));
        let tree = tree_of(&repository, &folder.join("first"), &files).map_err(wrong)?;
        let git = Git::bare(&repository, &folder.join("index"));
        git.lines(&["read-tree", &tree]).map_err(wrong)?;
        let states = vec![enter(&git, "source".to_owned(), None)?];
        Ok(Self { git, folder, history: SourceHistory { repository, states } })
    }

    fn push(&mut self, name: &str) -> Result<()> {
        let last = self.history.states.last().map(|last| last.commit.as_str());
        let state = enter(&self.git, name.to_owned(), last)?;
        self.history.states.push(state);
        Ok(())
    }

    /// A state for each patch of a list.
    fn apply(&mut self, list: &Path) -> Result<()> {
        let text = fs::read_to_string(list).map_err(BuildError::io(list))?;
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        for name in lines.filter_map(|line| line.split_whitespace().next()) {
            let patch = list.with_file_name("").join(name);
            let patch = patch.canonicalize().map_err(BuildError::io(&patch))?;
            let path = patch.to_string_lossy();
            let arguments = ["apply", "--cached", "--whitespace=nowarn", &path];
            self.git.lines(&arguments).map_err(|why| {
                BuildError::Unusable(format!(
                    "{name} of {} does not apply to the source after those before it: {why}",
                    list.display()
                ))
            })?;
            self.push(name)?;
        }
        Ok(())
    }

    /// A state for each file that differs in another source, in the order of their paths.
    fn differences(&mut self, other: &Path) -> Result<()> {
        let wrong = BuildError::Unusable;
        let repository = self.history.repository.clone();
        let tree = tree_of(&repository, &self.folder.join("second"), other).map_err(wrong)?;
        let first = self.history.states[0].commit.clone();
        let between = ["diff-tree", "-r", "-z", "--no-renames", &first, &tree];
        let text = self.git.text(&between, "").map_err(wrong)?;
        let mut parts = text.split('\0').filter(|part| !part.is_empty());
        while let (Some(change), Some(path)) = (parts.next(), parts.next()) {
            // `:OLD_MODE NEW_MODE OLD_HASH NEW_HASH STATUS`; a mode of zeros removes a file.
            let words: Vec<&str> = change.split(' ').collect();
            let [_, mode, _, hash, _] = words[..] else { continue };
            let entry = format!("{mode} {hash}\t{path}\0");
            let update = ["update-index", "-z", "--index-info"];
            self.git.text(&update, &entry).map_err(wrong)?;
            self.push(path)?;
        }
        Ok(())
    }
}

/// Enters all files of a folder; returns the hash of their tree.
fn tree_of(repository: &Path, index: &Path, files: &Path) -> Result<String, String> {
    let git = Git::bare(repository, index).with_files(files);
    git.lines(&["-c", COMPRESSION, "add", "--all", "--force", "."])?;
    git.line(&["write-tree"])
}
