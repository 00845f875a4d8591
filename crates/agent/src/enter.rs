//! Entering the sandbox: what a forked child does before its own work.

use std::fs;
use std::io;
use std::path::PathBuf;

/// The control groups that children enter.
pub(crate) struct Enter<'a> {
    pub(crate) groups: &'a [PathBuf],
}

impl Enter<'_> {
    /// Moves the calling process into every group.
    ///
    /// # Errors
    /// When a group refuses it, with the path.
    pub(crate) fn enter(&self) -> io::Result<()> {
        for path in self.groups {
            fs::write(path, "0").map_err(|error| {
                io::Error::new(error.kind(), format!("enter {}: {error}", path.display()))
            })?;
        }
        Ok(())
    }
}

/// Makes the calling process the OOM killer's first choice.
pub(crate) fn prefer_as_oom_victim() {
    // Raising one's own score is always allowed; without /proc there is nothing to be done.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
}
