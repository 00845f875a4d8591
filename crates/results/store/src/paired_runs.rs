//! Runs that two arms of a comparison have in common: the same activity with the same seed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{Run, SubjectSpec};
use results::manifest;
use results::run_files::{SUFFIX, read_run, read_runs, run_files};

use crate::error::Result;

/// The factor of folders of runs without a manifest.
const LOAD: &str = "load";

/// Runs of one arm of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ArmRuns<'a> {
    /// A run file or a folder of them.
    pub what: &'a Path,
    /// A factor of the folder's manifest and the level that the runs have, if these are an arm.
    pub level: Option<(&'a str, &'a str)>,
    /// Levels of other factors that the runs have, as far as they are known.
    pub levels: &'a BTreeMap<String, String>,
}

/// What two runs of a pair have in common: the levels of other factors, the load, and the seed.
type Key = (BTreeMap<String, String>, String, u64);

impl ArmRuns<'_> {
    /// The runs of deterministic machines, by what they have in common with those of another arm.
    fn find(&self) -> Result<BTreeMap<Key, PathBuf>> {
        let Some((factor, level)) = self.level else {
            let runs = read_runs(self.what)?.into_iter();
            return Ok(runs
                .filter_map(|(path, run)| self.keyed(BTreeMap::new(), path, &run))
                .collect());
        };
        let mut found = BTreeMap::new();
        let existing = run_files(self.what)?;
        for run in manifest::read(self.what)?.into_iter().flat_map(|manifest| manifest.runs) {
            let mut levels = run.levels;
            let file = self.what.join(format!("{}{SUFFIX}", run.run_id));
            if levels.remove(factor).as_deref() == Some(level) && existing.contains(&file) {
                let run = read_run(&file)?;
                found.extend(self.keyed(levels, file, &run));
            }
        }
        Ok(found)
    }

    fn keyed(
        &self,
        levels: BTreeMap<String, String>,
        path: PathBuf,
        run: &Run,
    ) -> Option<(Key, PathBuf)> {
        let header = run.header.as_ref().filter(|header| header.is_deterministic())?;
        let SubjectSpec::Vm(_) = header.spec.subject else { return None };
        let load = header.spec.load.name.clone();
        let is_wanted = self.levels.iter().all(|(factor, wanted)| {
            let known = levels.get(factor).or((factor == LOAD).then_some(&load));
            known.is_none_or(|level| level == wanted)
        });
        let is_compared = self.level.is_some_and(|(factor, _)| factor == LOAD);
        let load = if is_compared { String::new() } else { load };
        is_wanted.then_some(((levels, load, header.spec.seed), path))
    }
}

/// The pairs of runs of deterministic machines that two arms have in common, in order. Fails when a
/// file cannot be read.
pub fn paired_runs(first: &ArmRuns<'_>, second: &ArmRuns<'_>) -> Result<Vec<[PathBuf; 2]>> {
    let (first, mut second) = (first.find()?, second.find()?);
    let pair = |(key, path): (Key, PathBuf)| Some([path, second.remove(&key)?]);
    Ok(first.into_iter().filter_map(pair).collect())
}
