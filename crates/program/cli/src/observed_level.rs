//! What work does at a limit that costs more than the price: one more run there, observed by samples, which
//! does not count as a measurement.

use std::fs;
use std::path::Path;

use analysis::sweep::PricedLevel;
use experiment::Sweep;
use profile::RunProfile;
use render::format::factor;
use report::sampled_summary;

use crate::laboratory::{LabArgs, drive_heard};
use crate::progress::Progress;
use crate::run_profiles::ProfileRecorder;
use crate::{Failure, Result, chain};

/// How the names of profiles of observed runs end.
const PROFILE: &str = ".profile.json";

/// Observes a run at a level, unless one was observed before. What prevents it is reported; only a request
/// to stop is a failure.
pub(crate) fn observe(
    sweep: &mut Sweep,
    level: f64,
    lab: &LabArgs,
    progress: &mut Progress,
) -> Result<()> {
    let name = sweep.plan.observed_name(level);
    let profile = sweep.folder.join(format!("{name}{PROFILE}"));
    if profile.exists() {
        return Ok(());
    }
    progress.say(&format!(
        "one more run, to see what it does at {}",
        sweep.plan.quantity.format(level)
    ));
    let is_incomplete = observe_once(sweep, level, &profile, lab, progress)?;
    if is_incomplete {
        progress.say("records were lost, as others had the CPU: once more");
        observe_once(sweep, level, &profile, lab, progress)?;
    }
    Ok(())
}

/// Observes a run, and keeps its profile at a path; whether so many records were lost that nothing may be
/// concluded.
fn observe_once(
    sweep: &mut Sweep,
    level: f64,
    profile: &Path,
    lab: &LabArgs,
    progress: &mut Progress,
) -> Result<bool> {
    let mut recorder = ProfileRecorder::default();
    let mut hear = |event: &experiment::Event<'_>| recorder.hear(event);
    let made =
        drive_heard(&lab.options, progress, &mut hear, |driver| sweep.observe(level, driver));
    let refused = match made {
        Err(Failure::NotMeasured(error) | Failure::WrongUse(error)) => Some(chain(&error)),
        Err(other) => return Err(other),
        Ok(file) => {
            let moved = RunProfile::beside(&file).map(|beside| fs::rename(beside, profile));
            recorder.refused.or(moved.and_then(Result::err).map(|error| error.to_string()))
        }
    };
    if let Some(refused) = refused {
        progress.warn(&format!("what it does there is not known: {refused}"));
    }
    Ok(recorder.runs.iter().any(|run| run.profile.is_incomplete()))
}

/// What a run at a level did, if one was observed, as a sentence.
pub(crate) fn sentence(folder: &Path, name: &str, level: &str, it: &PricedLevel) -> Option<String> {
    let text = fs::read_to_string(folder.join(format!("{name}{PROFILE}"))).ok()?;
    let profile = RunProfile::parse(&text).ok()?.profile;
    let cost =
        it.ratio.map(|ratio| format!(", where it costs {} times as much", factor(ratio.ratio)));
    let summary = sampled_summary(&profile).join("; ");
    Some(format!("At {level}{}: {summary}.", cost.unwrap_or_default()))
}
