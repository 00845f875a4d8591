//! Planned loads, probes and jobs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use jobs::MemoryJob;
use model::{CommandSpec, LoadSpec, Measure, ProbeSpec, Script, SessionSpec, Spec, Tools};

use crate::plan::job_name;
use crate::typed::{Setting, setting};

/// The size parameter of each job: set by a bare value, and swept by default.
const SIZES: [(&str, &str); 3] = [("vmtest", "size"), ("touch", "footprint"), ("session", "users")];

/// A typed job: `vmtest`, `vmtest:24M`, `vmtest:process_size=4M,loops=100`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedJob {
    /// Its name.
    pub name: String,
    /// The values of its parameters, by their short names.
    pub settings: Vec<Setting>,
}

impl FromStr for TypedJob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let name = job_name(name)?;
        let value = |part: &str| match size_of(&name) {
            Some(size) if !part.contains('=') => Ok((size.to_owned(), part.to_owned())),
            _ => setting(part),
        };
        let parts = settings.split(',').filter(|part| !part.is_empty());
        Ok(Self { settings: parts.map(value).collect::<Result<_, _>>()?, name })
    }
}

impl TypedJob {
    /// Whether it is a memory job that has this parameter.
    pub fn has(&self, name: &str) -> bool {
        workloads::find_job(&self.name)
            .is_some_and(|job| job.params.iter().any(|param| param.name == name))
    }

    /// The job with further settings, of which the last of a name counts. The error names an
    /// unknown setting or a bad value.
    pub fn measure(&self, further: &[Setting]) -> Result<Measure, String> {
        let settings: Vec<Setting> = self.settings.iter().chain(further).cloned().collect();
        job(&self.name, &settings, Path::new(""))
    }
}

/// The parameter that is the size of a job.
pub fn size_of(job: &str) -> Option<&'static str> {
    SIZES.iter().find(|(name, _)| *name == job).map(|(_, size)| *size)
}

/// A job from settings such as `size` = `16M`. In a session, `script` is the path of a script in
/// `folder`, and the others are its settings and variables ([`workloads::set`]). The error names
/// the unknown setting or bad value, or why the script cannot be read.
pub(crate) fn job(name: &str, settings: &[Setting], folder: &Path) -> Result<Measure, String> {
    let name = job_name(name)?;
    let desc = workloads::find_job(&name).ok_or_else(|| format!("no job is named {name:?}"))?;
    if desc.name == workloads::SESSION.name {
        let script = script(settings, folder)?;
        return Ok(Measure::Session(Box::new(SessionSpec { version: desc.version, script })));
    }
    let mut job = desc.spec();
    for (name, value) in settings {
        desc.set(&mut job, name, value).map_err(|why| format!("{}.{name}: {why}", desc.name))?;
    }
    let measure = Measure::from(job);
    match &measure {
        Measure::Command(command) => workloads::check_command(command)?,
        Measure::Memory(job) => {
            MemoryJob::new(job).map_err(|why| format!("{}: {why}", desc.name))?;
        }
        Measure::Probe(_) | Measure::Session(_) => {}
    }
    Ok(measure)
}

/// The name of the first figure that the user's command is to print, if these settings have one.
pub(crate) fn first_metric(base: &[Setting]) -> Option<String> {
    let (_, lines) = base.iter().rev().find(|(name, _)| name == "command.metric")?;
    let mut job = workloads::COMMAND.spec();
    workloads::COMMAND.set(&mut job, "metric", lines).ok()?;
    Some(workloads::metrics(&CommandSpec::new(job)).ok()?.first()?.name.clone())
}

/// A load with its intensity.
pub(crate) fn load_spec(name: &str, intensity: f64) -> LoadSpec {
    let version = workloads::find_load(name).map_or(0, |load| load.version);
    LoadSpec { name: name.to_owned(), version, intensity, params: BTreeMap::new() }
}

/// A spec without what only a run resolves: parameters of load and probe, and a script's tools.
pub fn as_planned(spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    spec.load.params.clear();
    match &mut spec.measure {
        Measure::Probe(probe) => probe.params.clear(),
        Measure::Session(session) => session.script.tools = Tools::Auto,
        Measure::Command(_) | Measure::Memory(_) => {}
    }
    spec
}

fn script(settings: &[Setting], folder: &Path) -> Result<Script, String> {
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
pub(crate) fn probe_measure(name: &str) -> Measure {
    let version = workloads::find_probe(name).map_or(0, |probe| probe.version);
    Measure::Probe(ProbeSpec { name: name.to_owned(), version, params: BTreeMap::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str, further: &[Setting]) -> BTreeMap<String, u64> {
        match text.parse::<TypedJob>().unwrap().measure(further).unwrap() {
            Measure::Memory(job) => job.params,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn jobs_have_a_size_and_settings() {
        let job = params("vmtest:24M,loops=7", &[]);
        assert_eq!((job["size"], job["loops"]), (24 << 20, 7));
        let job = params("vmtest:24M,loops=7", &[("size".to_owned(), "4M".to_owned())]);
        assert_eq!(job["size"], 4 << 20, "what comes later counts");
        let job: TypedJob = "vmtest".parse().unwrap();
        assert!(job.has("process_size") && !job.has("victim"));
        for (text, why) in [("gzip", "vmtest"), ("", "vmtest"), ("session:=1", "NAME=VALUE")] {
            assert!(text.parse::<TypedJob>().unwrap_err().contains(why), "{text}");
        }
        let odd = "vmtest:3M".parse::<TypedJob>().unwrap().measure(&[]).unwrap_err();
        assert!(odd.contains("multiple"), "{odd}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(vmtest:|touch:)?.{0,30}") {
            if let Ok(job) = text.parse::<TypedJob>() {
                let _ = job.measure(&[]);
            }
        }
    }
}
