//! A cell of a plan: one combination of levels with its meaning.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{BASELINE, LoadSpec, Measure, Spec, SubjectSpec, Timing};

use super::parameter::{CellDraft, SettingTarget, SubjectSetting};
use crate::SubjectArg;
use crate::job::{as_planned, job, load_spec, probe_measure};
use crate::profile::{TimingChanges, timing};
use crate::subject_arg::split;
use crate::typed::Setting;

/// The default probe of a plan.
const DEFAULT_PROBE: &str = "response";

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct CellPlan {
    /// Factor and level by name, in the order of the plan.
    pub(crate) named: Vec<(String, String)>,
    /// Where it runs; `None` = a sandbox where possible, else the host.
    pub subject: Option<SubjectArg>,
    pub(crate) load: LoadSpec,
    /// What is timed.
    pub measure: Measure,
    pub(crate) timing: Timing,
    /// Kernel parameters of this host.
    pub(crate) sysctls: BTreeMap<String, String>,
    /// Size of a temporary swap file of this host.
    pub swap_bytes: Option<u64>,
}

impl CellPlan {
    /// The cell of typed times and settings; paths begin in the current folder. The error names an
    /// unknown setting, a bad value, or a contradiction.
    pub fn typed(
        profile: Option<&str>,
        times: TimingChanges,
        settings: &[Setting],
    ) -> Result<Self, String> {
        let profile = profile.map(str::to_owned);
        let mut draft = CellDraft { profile, times, ..CellDraft::default() };
        for setting in settings {
            draft.set(setting).map_err(|why| format!("{}: {why}", setting.0))?;
        }
        draft.resolve(Vec::new(), Path::new(""))
    }

    /// Fails if the load cannot be run at its volume, or the simulator has no such load or measure.
    pub fn check(self) -> Result<Self, String> {
        check_volume(&self.load)?;
        if let Some(SubjectArg::Mmu(_)) = self.subject {
            ::simulated::check(&self.measure, &self.load)?;
        }
        Ok(self)
    }

    /// Whether its runs are exactly repeatable.
    pub(crate) fn is_deterministic(&self) -> bool {
        match &self.subject {
            Some(SubjectArg::Vm(vm)) => vm.machine.is_deterministic(),
            Some(SubjectArg::Mmu(_)) => true,
            _ => false,
        }
    }

    /// Whether a run is one of this cell, except for what only a run resolves: its tools, the
    /// memory of a subject that names none.
    pub fn describes(&self, made: &Spec) -> bool {
        let spec = self.spec(made.subject.clone(), made.seed, made.block, made.order);
        is_subject(self.subject.as_ref(), &made.subject) && as_planned(&spec) == as_planned(made)
    }

    /// The full description of one run of the cell.
    pub fn spec(&self, subject: SubjectSpec, seed: u64, block: u32, order: u32) -> Spec {
        Spec {
            subject,
            load: self.load.clone(),
            measure: self.measure.clone(),
            timing: self.timing.clone(),
            sysctls: self.sysctls.clone(),
            seed,
            block,
            order,
        }
    }
}

/// Sets where the user's commands run on this machine: the given folder, or the plan's.
fn in_folder(measure: &mut Measure, folder: &Path) -> Result<(), String> {
    let Measure::Command(command) = measure else { return Ok(()) };
    let here = std::env::current_dir().map_err(|error| format!("the current folder: {error}"))?;
    let path: PathBuf = here.join(folder).join(command.folder()).components().collect();
    command.set_folder(path.to_str().ok_or_else(|| format!("{}: not UTF-8", path.display()))?);
    Ok(())
}

/// Whether a subject matches the requested one, in all that the plan names.
fn is_subject(typed: Option<&SubjectArg>, made: &SubjectSpec) -> bool {
    match (typed, made) {
        (None, SubjectSpec::Host { .. } | SubjectSpec::Sandbox(_)) => true,
        (Some(SubjectArg::Here(asked)), made) => asked.describes(made),
        (Some(SubjectArg::Remote(remote)), made) => {
            // The spec does not include the machine.
            let here = remote.subject.clone().map(SubjectArg::Here);
            is_subject(here.as_ref(), made)
        }
        (Some(SubjectArg::Vm(request)), SubjectSpec::Vm(made)) => {
            request.machine == made.machine
                && request.sandbox == made.sandbox
                && request.kernel.as_ref().is_none_or(|typed| *typed == made.kernel)
        }
        (Some(SubjectArg::Mmu(asked)), SubjectSpec::Mmu(made)) => {
            (&asked.description, &asked.settings) == (&made.description, &made.settings)
        }
        _ => false,
    }
}

/// A provocation at 0 is its control run; another load at 0 is nothing.
pub(crate) fn check_volume(load: &LoadSpec) -> Result<(), String> {
    match load.intensity == 0.0 && !workloads::may_have_zero_volume(&load.name) {
        true => Err(format!(
            "load.intensity: {} is not a load at 0, which is for loads that provoke a condition \
             (provoke-NAME)",
            load.name
        )),
        false => Ok(()),
    }
}

/// Levels as part of a file name, in characters that every file system and shell accepts.
pub(crate) fn label(named: &[(String, String)]) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._+".contains(letter);
    let levels: Vec<String> = named.iter().map(|(_, level)| level.replace('-', "_")).collect();
    levels.join("-").replace(|letter| !is_plain(letter), "_")
}

/// Factors and levels as `kernel 6.1, load cpuload`.
pub(crate) fn in_words(named: &[(String, String)]) -> String {
    let all: Vec<String> = named.iter().map(|(it, level)| format!("{it} {level}")).collect();
    all.join(", ")
}

impl SubjectSetting {
    fn name_in(&self, kind: &str) -> Result<String, String> {
        let Self { of, name, .. } = self;
        match (of, kind) {
            (SettingTarget::Subject, _)
            | (SettingTarget::Sandbox, "sandbox")
            | (SettingTarget::Machine, "vm")
            | (SettingTarget::Simulator, "mmu") => Ok(name.clone()),
            (SettingTarget::Sandbox, "vm") => Ok(format!("sandbox.{name}")),
            (SettingTarget::Sandbox, _) => {
                Err(format!("sandbox.{name}: the subject {kind} has no sandbox"))
            }
            (SettingTarget::Machine, _) => {
                Err(format!("machine.{name}: the subject {kind} is not a machine"))
            }
            (SettingTarget::Simulator, _) => {
                Err(format!("mmu.{name}: the subject {kind} is not simulated"))
            }
        }
    }
}

impl CellDraft {
    pub(super) fn resolve(
        self,
        named: Vec<(String, String)>,
        folder: &Path,
    ) -> Result<CellPlan, String> {
        let subject = self.subject(folder)?;
        let is_guest = matches!(subject, Some(SubjectArg::Vm(_)));
        let timing = timing(self.profile.as_deref(), subject.as_ref(), &self.times)?;
        let measure = match (&self.job, &self.probe) {
            (Some(_), Some(_)) => return Err("a run times a probe or a job, not both".to_owned()),
            (Some(name), None) => {
                let mut measure = job(name, &self.of_job(name)?, folder)?;
                if matches!(subject, None | Some(SubjectArg::Here(_))) {
                    in_folder(&mut measure, folder)?;
                }
                measure
            }
            (None, _) if !self.job_settings.is_empty() => {
                let name = &self.job_settings[0].0;
                return Err(format!("{name}.…: there is no {name} without job = \"{name}\""));
            }
            (None, probe) => probe_measure(probe.as_deref().unwrap_or(DEFAULT_PROBE)),
        };
        if is_guest && self.swap_bytes.is_some() {
            return Err("swap: a guest has its own disk: subject.swap".to_owned());
        }
        let is_simulated = matches!(subject, Some(SubjectArg::Mmu(_)));
        if is_simulated && (self.swap_bytes.is_some() || !self.sysctls.is_empty()) {
            return Err("a simulated machine has neither swap files nor sysctls".to_owned());
        }
        let name = self.load.as_deref().unwrap_or(BASELINE);
        let load = load_spec(name, self.intensity.unwrap_or(1.0));
        Ok(CellPlan {
            named,
            subject,
            load,
            measure,
            timing,
            // A guest's are settings of its machine.
            sysctls: if is_guest { BTreeMap::new() } else { self.sysctls.into_iter().collect() },
            swap_bytes: self.swap_bytes,
        })
    }

    /// The settings of the job; no others are allowed.
    fn of_job(&self, job: &str) -> Result<Vec<Setting>, String> {
        if let Some((other, ..)) = self.job_settings.iter().find(|(other, ..)| other != job) {
            return Err(format!("{other}.…: the job is {job}"));
        }
        let settings = self.job_settings.iter();
        Ok(settings.map(|(_, name, value)| (name.clone(), value.clone())).collect())
    }

    fn subject(&self, folder: &Path) -> Result<Option<SubjectArg>, String> {
        let text = match (&self.subject, self.subject_settings.first()) {
            (Some(text), _) => text,
            (None, None) => return Ok(None),
            (None, Some(SubjectSetting { of: SettingTarget::Sandbox, .. })) => "sandbox",
            (None, Some(SubjectSetting { of: SettingTarget::Machine, .. })) => "vm",
            (None, Some(SubjectSetting { of: SettingTarget::Simulator, .. })) => "mmu",
            (None, Some(SubjectSetting { of: SettingTarget::Subject, name, .. })) => {
                return Err(format!("{name}: set `subject`, too"));
            }
        };
        let (address, kind, mut settings) = split(text)?;
        let kind = match self.subject_settings.first() {
            Some(SubjectSetting { of: SettingTarget::Sandbox, .. }) if kind.is_empty() => "sandbox",
            _ => kind,
        };
        for setting in &self.subject_settings {
            let name = setting.name_in(kind).map_err(|why| match setting.value.as_str() {
                vm::MECHANISMS => {
                    format!("mechanism: {kind} has no kernel of its own: set subject=vm")
                }
                _ => why,
            })?;
            settings.push((name, setting.value.clone()));
        }
        if kind == "vm" {
            let sysctls = self.sysctls.iter();
            settings.extend(sysctls.map(|(name, value)| (format!("sysctl.{name}"), value.clone())));
        }
        for (name, value) in &mut settings {
            let is_path = match name.as_str() {
                "overlay" => vm::is_folder_of_overlay(value),
                "root" => vm::is_path_of_root(value),
                "machine" => value.ends_with(".toml"),
                _ => false,
            };
            if is_path {
                *value = folder.join(value.as_str()).to_string_lossy().into_owned();
            }
        }
        let subject = SubjectArg::new(address, kind, &settings);
        subject.map(Some).map_err(|why| format!("subject: {why}"))
    }
}
