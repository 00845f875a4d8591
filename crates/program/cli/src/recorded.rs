//! What is recorded of runs on this machine while they are made (`run --profile`), by what they measure.

use std::fs;
use std::path::{Path, PathBuf};

use experiment::Event;
use model::Measure;
use profile::{RunPaths, RunProfile};

use crate::Result;
use crate::critical_paths::PathRecorder;
use crate::run_profiles::ProfileRecorder;

/// A load whose programs cannot be distinguished from those of a command.
const STARTS_PROGRAMS: &str = "spawnload";

/// Records runs, or does not.
pub(crate) enum Recorder {
    /// Nothing is recorded.
    Off,
    /// The critical paths of a probe's responses.
    Paths(PathRecorder),
    /// What a command does.
    Profiles(ProfileRecorder),
}

/// What is kept next to run files.
#[derive(Default)]
pub(crate) struct Kept {
    /// Critical paths.
    pub(crate) paths: Vec<RunPaths>,
    /// Profiles.
    pub(crate) profiles: Vec<RunProfile>,
}

impl Recorder {
    /// What records runs of a measure under these loads. Fails for one that cannot be recorded.
    pub(crate) fn of(measure: &Measure, loads: &[String]) -> Result<Self> {
        match measure {
            Measure::Probe(_) => Ok(Self::Paths(PathRecorder::default())),
            Measure::Command(_) if loads.iter().any(|load| load == STARTS_PROGRAMS) => Err(wrong!(
                "--profile: the programs of {STARTS_PROGRAMS} cannot be distinguished from those of the \
                 command; name other loads"
            )),
            Measure::Command(_) => Ok(Self::Profiles(ProfileRecorder::default())),
            Measure::Session(_) | Measure::Memory(_) => Err(wrong!(
                "--profile is for the responses of a probe and for commands; a {} has neither",
                measure.name()
            )),
        }
    }

    /// Takes the next event of the driver.
    pub(crate) fn hear(&mut self, event: &Event<'_>) {
        match self {
            Self::Off => {}
            Self::Paths(recorder) => recorder.hear(event),
            Self::Profiles(recorder) => recorder.hear(event),
        }
    }

    /// What is missing and why, if anything is.
    pub(crate) fn refused(&self) -> Option<String> {
        let (what, why) = match self {
            Self::Off => return None,
            Self::Paths(recorder) => ("critical paths", recorder.refused.as_ref()?),
            Self::Profiles(recorder) => ("profile", recorder.refused.as_ref()?),
        };
        Some(format!("no {what}: {why}"))
    }

    /// What was recorded.
    pub(crate) fn kept(self) -> Kept {
        match self {
            Self::Off => Kept::default(),
            Self::Paths(recorder) => Kept { paths: recorder.runs, ..Kept::default() },
            Self::Profiles(recorder) => Kept { profiles: recorder.runs, ..Kept::default() },
        }
    }
}

impl Kept {
    /// What is kept next to runs: of a folder all, of a run file its own.
    pub(crate) fn beside(what: &Path) -> Self {
        let entries = fs::read_dir(what).into_iter().flatten().flatten().map(|entry| entry.path());
        let files: Vec<PathBuf> = std::iter::once(what.to_owned()).chain(entries).collect();
        let texts = |beside: fn(&Path) -> Option<PathBuf>| {
            let beside = files.iter().filter_map(move |file| beside(file));
            beside.filter_map(|file| fs::read_to_string(file).ok())
        };
        Self {
            paths: texts(RunPaths::beside).filter_map(|text| RunPaths::parse(&text).ok()).collect(),
            profiles: texts(RunProfile::beside)
                .filter_map(|text| RunProfile::parse(&text).ok())
                .collect(),
        }
    }
}
