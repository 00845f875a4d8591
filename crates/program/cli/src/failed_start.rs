//! What a command leaves that failed before anything was measured: nothing, so that the corrected
//! command may use the same folder.

use std::fs;
use std::path::{Path, PathBuf};

use model::{EndStatus, Run, SubjectSpec};
use results::manifest;
use results::run_files::read_runs;

/// A folder for run files before the first run.
pub(crate) struct ResultsStart {
    folder: PathBuf,
    was_there: bool,
}

impl ResultsStart {
    /// Before anything is written to this folder.
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), was_there: folder.exists() }
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the run files, and a new folder, if all runs failed before anything was measured:
    /// their reason is the command's error. Returns whether it did.
    pub(crate) fn remove_if_failed(&self) -> bool {
        let plan = self.folder.join(manifest::FILE);
        // An experiment that is continued keeps what it has.
        if self.was_there && plan.exists() {
            return false;
        }
        let Ok(runs) = read_runs(&self.folder) else { return false };
        if !runs.iter().all(|(_, run)| is_failed_start(run)) {
            return false;
        }
        // What cannot be removed is refused by the next command, by its name.
        for path in runs.into_iter().map(|(path, _)| path).chain([plan]) {
            let _ = fs::remove_file(path);
        }
        if !self.was_there {
            let _ = fs::remove_dir(&self.folder);
        }
        true
    }

    /// What is said of it then.
    pub(crate) fn text(&self) -> String {
        format!("nothing was measured, and no run file is left in {}", self.folder.display())
    }
}

/// Whether a run failed before anything was measured. The file of a guest that failed shows why.
fn is_failed_start(run: &Run) -> bool {
    let is_here = run.header.as_ref().is_some_and(|header| {
        !matches!(header.spec.subject, SubjectSpec::Vm(_) | SubjectSpec::Mmu(_))
    });
    is_here && run.status() == EndStatus::Failed && !run.is_measured()
}
