//! Simulated runs as a folder that `sweep --from`, `compare` and `show` read.

use std::path::Path;

use anyhow::Context;
use model::Manifest;
use results::run_files::RunFile;

use super::ProgramRun;
use crate::Result;

/// Writes the runs and their manifest into a folder that has none.
pub(super) fn write(folder: &Path, manifest: &Manifest, made: &[ProgramRun]) -> Result<()> {
    let has_runs = results::run_files::read_runs(folder).is_ok();
    if has_runs || results::manifest::read(folder).is_ok_and(|found| found.is_some()) {
        return Err(wrong!(
            "{} holds runs already; name a new folder with --run-files DIR",
            folder.display()
        ));
    }
    for run in made {
        let mut file = RunFile::create(folder, &run.listed.run_id).context("write a run")?;
        file.line(&run.bytes).context("write a run")?;
    }
    Ok(results::manifest::write(manifest, folder).context("write the manifest")?)
}
