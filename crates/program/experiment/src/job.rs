//! Planned loads, probes and jobs.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use std::{env, fs};

use jobs::MemoryJob;
use model::{CommandSpec, LoadSpec, Measure, ProbeSpec, Script, SessionSpec, Spec, Tools};

use crate::plan::{is_parameter, job_name};
use crate::subject_arg::is_here;
use crate::typed::{Setting, last, set_default, setting};

/// The parameter that is the folder of a command.
pub(crate) const FOLDER: &str = "command.folder";
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
    /// The job and its parameters by their names in plans.
    pub fn in_plan(&self) -> Vec<Setting> {
        let full = |(name, value): &Setting| (format!("{}.{name}", self.name), value.clone());
        let named = ("job".to_owned(), self.name.clone());
        [named].into_iter().chain(self.settings.iter().map(full)).collect()
    }

    /// Whether it is a memory job that has this parameter.
    pub fn has(&self, name: &str) -> bool {
        workloads::find_job(&self.name)
            .is_some_and(|job| job.params.iter().any(|param| param.name == name))
    }
}

/// The settings with those of `set`, which are stronger. A setting that the job has by its short
/// name gets its full one.
pub fn with_full_names(mut settings: Vec<Setting>, set: &[Setting]) -> Vec<Setting> {
    let Some(name) = last(&settings, "job").map(str::to_owned) else {
        settings.extend(set.iter().cloned());
        return settings;
    };
    let short = |(full, value): &Setting| {
        let (job, short) = full.split_once('.')?;
        (job == name).then(|| (short.to_owned(), value.clone()))
    };
    let of_job: Vec<Setting> = settings.iter().filter_map(short).collect();
    let has = |setting: &Setting| {
        let all: Vec<Setting> = of_job.iter().chain([setting]).cloned().collect();
        !is_parameter(&setting.0) || job(&name, &all, Path::new("")).is_ok()
    };
    let full = |setting: &Setting| match has(setting) {
        true => (format!("{name}.{}", setting.0), setting.1.clone()),
        false => setting.clone(),
    };
    settings.extend(set.iter().map(full));
    settings
}

/// Whether these settings time a command.
pub fn times_command(settings: &[Setting]) -> bool {
    last(settings, "job") == Some(workloads::COMMAND.name)
}

/// Sets the folder in which a command of this machine runs, if none is set: this one. A guest and
/// another machine do not have it.
pub(crate) fn set_folder(settings: &mut Vec<Setting>, home: &Path) -> Result<(), String> {
    if times_command(settings) && is_here(settings) {
        let text = home.to_str().ok_or_else(|| format!("{}: not UTF-8", home.display()))?;
        set_default(settings, FOLDER, text);
    }
    Ok(())
}

/// Whether a command runs in the current folder of this machine.
pub fn is_in_this_folder(settings: &[Setting]) -> bool {
    let is_this = |folder: &str| env::current_dir().is_ok_and(|here| here == Path::new(folder));
    times_command(settings) && is_here(settings) && last(settings, FOLDER).is_none_or(is_this)
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
    let lines = last(base, "command.metric")?;
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

    #[test]
    fn jobs_have_a_size_and_settings() {
        let named: TypedJob = "vmtest:24M,loops=7".parse().unwrap();
        let Ok(Measure::Memory(memory)) = job(&named.name, &named.settings, Path::new("")) else {
            panic!("{named:?}")
        };
        assert_eq!((memory.params["size"], memory.params["loops"]), (24 << 20, 7));
        let named: TypedJob = "vmtest".parse().unwrap();
        assert!(named.has("process_size") && !named.has("victim"));
        for (text, why) in [("gzip", "vmtest"), ("", "vmtest"), ("session:=1", "NAME=VALUE")] {
            assert!(text.parse::<TypedJob>().unwrap_err().contains(why), "{text}");
        }
        let odd: TypedJob = "vmtest:3M".parse().unwrap();
        let odd = job(&odd.name, &odd.settings, Path::new("")).unwrap_err();
        assert!(odd.contains("multiple"), "{odd}");
    }

    #[test]
    fn a_setting_of_the_job_gets_its_full_name_and_comes_last() {
        let set = [("size", "4M"), ("load", "cpuload"), ("timeout", "9s")];
        let set = set.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let all = with_full_names("vmtest:24M".parse::<TypedJob>().unwrap().in_plan(), &set);
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["job", "vmtest.size", "vmtest.size", "load", "timeout"]);
        assert_eq!(last(&all, "vmtest.size"), Some("4M"), "what comes later counts");
        assert_eq!(with_full_names(Vec::new(), &set), set, "without a job");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(vmtest:|touch:)?.{0,30}") {
            if let Ok(TypedJob { name, settings }) = text.parse() {
                let _ = job(&name, &settings, Path::new(""));
            }
        }
    }
}
