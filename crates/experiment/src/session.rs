//! The session job as it is asked for: a script, and what is changed of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use model::{JobSpec, Measure, Script};

/// The job's name.
const NAME: &str = "session";

/// Makes the measure of a session from settings such as `users` = `3`; `script` is the path of a
/// script in `folder`, all others are settings and variables of the script ([`jobs::set`]).
///
/// # Errors
/// Which setting is unknown or has a bad value, or why the script cannot be read.
pub fn session(settings: &[(String, String)], folder: &Path) -> Result<Measure, String> {
    let script = settings.iter().rev().find(|(name, _)| name == "script");
    let mut script = match script {
        Some((_, path)) => read(&folder.join(path))?,
        None => jobs::parse_script(jobs::DEFAULT_SCRIPT).map_err(|error| error.to_string())?,
    };
    for (name, value) in settings.iter().filter(|(name, _)| name != "script") {
        jobs::set(&mut script, name, value).map_err(|why| format!("session.{name}: {why}"))?;
    }
    let version = jobs::find(NAME).map_or(0, |job| job.version);
    let (name, params) = (NAME.to_owned(), BTreeMap::new());
    Ok(Measure::Job(Box::new(JobSpec { name, version, params, script: Some(script) })))
}

fn read(path: &Path) -> Result<Script, String> {
    let failed = |why: &dyn std::fmt::Display| format!("script {}: {why}", path.display());
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    jobs::parse_script(&text).map_err(|error| failed(&error))
}
