//! Loads, probes and jobs as they are planned.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::plan::job_name;
use model::{LoadSpec, Measure, ProbeSpec, Script, Spec, Tools};
use workloads::MemoryJob;

/// Makes a job from settings such as `size` = `16M`. In a session, `script` is the path of a script
/// in `folder`, and the others are settings and variables of it ([`workloads::set`]). The error
/// names the setting that is unknown or has a bad value, or why the script cannot be read.
pub fn job(name: &str, settings: &[(String, String)], folder: &Path) -> Result<Measure, String> {
    let name = job_name(name)?;
    let desc = workloads::find_job(&name).ok_or_else(|| format!("no job is named {name:?}"))?;
    let mut job = desc.spec();
    if desc.name == workloads::SESSION.name {
        job.script = Some(script(settings, folder)?);
    } else {
        for (name, value) in settings {
            desc.set(&mut job, name, value)
                .map_err(|why| format!("{}.{name}: {why}", desc.name))?;
        }
        MemoryJob::new(&job).map_err(|why| format!("{}: {why}", desc.name))?;
    }
    Ok(Measure::Job(Box::new(job)))
}

/// A load with its dose.
pub fn load_spec(name: &str, intensity: f64) -> LoadSpec {
    let version = workloads::find_load(name).map_or(0, |load| load.version);
    LoadSpec { name: name.to_owned(), version, intensity, params: BTreeMap::new() }
}

/// A spec without what is found out only when it runs: parameters of load and probe, whose tools a
/// script takes.
pub(crate) fn as_planned(spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    spec.load.params.clear();
    match &mut spec.measure {
        Measure::Probe(probe) => probe.params.clear(),
        Measure::Job(job) => {
            job.script.iter_mut().for_each(|script| script.tools = Tools::Auto);
        }
    }
    spec
}

fn script(settings: &[(String, String)], folder: &Path) -> Result<Script, String> {
    let path = settings.iter().rev().find(|(name, _)| name == "script");
    let mut script = match path {
        Some((_, path)) => read(&folder.join(path))?,
        None => {
            workloads::parse_script(workloads::DEFAULT_SCRIPT).map_err(|error| error.to_string())?
        }
    };
    for (name, value) in settings.iter().filter(|(name, _)| name != "script") {
        workloads::set(&mut script, name, value).map_err(|why| format!("session.{name}: {why}"))?;
    }
    Ok(script)
}

fn read(path: &Path) -> Result<Script, String> {
    let failed = |why: &dyn std::fmt::Display| format!("script {}: {why}", path.display());
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    workloads::parse_script(&text).map_err(|error| failed(&error))
}

/// The probe of this name as a measure.
pub fn probe_measure(name: &str) -> Measure {
    let version = workloads::find_probe(name).map_or(0, |probe| probe.version);
    Measure::Probe(ProbeSpec { name: name.to_owned(), version, params: BTreeMap::new() })
}
