//! What a plan can set, and the cell draft that settings build.

use model::units::{parse_duration_ns, parse_size_bytes};

use mechanisms::MECHANISMS;
use workloads::Workload;

use crate::profile::TimingChanges;
use crate::typed::{Setting, intensity};

/// Everything that a plan can set: name and meaning.
pub const PARAMETERS: [(&str, &str); 30] = [
    ("subject", "where it runs, as with `thrashlab run --subject`"),
    ("subject.NAME", "one setting of the subject: sandbox.mem, disk.delay, thp, cmdline, …"),
    ("sandbox.NAME", "a limit of the sandbox, also of one in a guest: memory, cpus, pids"),
    ("machine.NAME", "a setting of the machine: memory, swap, disk.delay, …"),
    ("mmu.NAME", "a setting of a simulated machine: machine, hat, victim, pmegs, …"),
    ("machine", "the same as subject.machine"),
    ("kernel", "the same as subject.kernel"),
    ("memory", "the same as subject.mem"),
    ("cmdline", "the same as subject.cmdline: added to the kernel's command line"),
    ("overlay", "a folder overlaid on the guest's root: the programs under test"),
    ("root", "the guest's root: a folder, a tar file, an OCI image, debian:SUITE[,PACKAGE…]"),
    (
        "sysctl.NAME",
        "a kernel parameter: of the guest, or of this host (root), restored afterwards",
    ),
    ("swap", "a temporary swap file of this host (root), the same in all cells"),
    ("load", "the load in the background"),
    ("load.intensity", "its volume: 1 is the load as documented"),
    ("probe", "the interaction that is timed"),
    ("job", "the work that is timed instead of a probe"),
    (
        "mechanism",
        "of a guest's kernel, whose cost is the job: fork, anon-fault, cow, swap-in, … (docs/history.md)",
    ),
    ("profile", "a timing profile: default, quick, slow, classic"),
    ("interval", "time between two interactions"),
    ("points", "interactions in a run"),
    ("warmup", "longest wait for the load to become warm"),
    ("timeout", "longest time of an interaction"),
    ("session.script", "the script of the session's users: a file next to the plan"),
    ("session.users", "how many users"),
    ("session.think, session.limit, session.tools", "the script's values of these names"),
    ("session.NAME", "a variable of the script: another program, another argument"),
    ("vmtest.NAME", "a parameter of the job vmtest: size, process_size, loops, switch_rate, …"),
    ("touch.NAME", "a parameter of the job touch: processes, footprint, pattern, pages, …"),
    ("command.NAME", "a parameter of the job command: run, runs, warmup, prepare, folder, …"),
];

/// How often the program of a mechanism is run, which repeats it many times itself.
const MECHANISM_RUNS: u32 = 3;

/// A cell as far as settings describe it.
#[derive(Clone, Debug, Default)]
pub(super) struct CellDraft {
    pub(super) subject: Option<String>,
    /// Settings of the subject, in order.
    pub(super) subject_settings: Vec<SubjectSetting>,
    pub(super) sysctls: Vec<(String, String)>,
    pub(super) swap_bytes: Option<u64>,
    pub(super) load: Option<String>,
    pub(super) intensity: Option<f64>,
    pub(super) probe: Option<String>,
    pub(super) job: Option<String>,
    pub(super) profile: Option<String>,
    pub(super) times: TimingChanges,
    /// Settings of jobs: job, parameter, value.
    pub(super) job_settings: Vec<(String, String, String)>,
}

#[derive(Clone, Debug)]
pub(super) struct SubjectSetting {
    /// What it is a setting of.
    pub(super) of: SettingTarget,
    pub(super) name: String,
    pub(super) value: String,
}

/// The target of a subject's setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingTarget {
    /// Whatever the subject is.
    Subject,
    /// A sandbox: the subject itself, or one in its guest.
    Sandbox,
    /// A machine of its own.
    Machine,
    /// A simulated machine.
    Simulator,
}

impl CellDraft {
    pub(super) fn set(&mut self, (parameter, value): &Setting) -> Result<(), String> {
        let text = || Some(value.clone());
        let time = || parse_duration_ns(value).map(Some);
        match parameter.as_str() {
            "subject" => self.subject = text(),
            "machine" | "kernel" | "cmdline" | "overlay" | "root" => {
                self.subject_setting(SettingTarget::Subject, parameter, value);
            }
            "memory" => self.subject_setting(SettingTarget::Subject, "mem", value),
            "swap" => {
                self.swap_bytes = Some(parse_size_bytes(value)?);
            }
            "load" => {
                self.load = Some(known_name(value, "load", workloads::loads_and_provocations())?)
            }
            "load.intensity" => self.intensity = Some(intensity(value)?),
            "probe" => self.probe = Some(known_name(value, "probe", workloads::probes())?),
            "job" => self.job = Some(job_name(value)?),
            "mechanism" => self.set_mechanism(value)?,
            "profile" => self.profile = text(),
            "interval" => self.times.interval = time()?,
            "warmup" => self.times.warmup = time()?,
            "timeout" => self.times.timeout = time()?,
            "points" => {
                let points = value.parse().ok().filter(|points| (1..=1_000_000).contains(points));
                self.times.points = Some(points.ok_or("a number from 1 to 1000000")?);
            }
            other => return self.set_prefixed(other, value),
        }
        Ok(())
    }

    /// The program that measures it is laid over the guest's root and is the command that is timed.
    fn set_mechanism(&mut self, name: &str) -> Result<(), String> {
        if !MECHANISMS.iter().any(|(known, _)| *known == name) {
            let names: Vec<&str> = MECHANISMS.iter().map(|(name, _)| *name).collect();
            return Err(format!("no such mechanism; choose from {}", names.join(", ")));
        }
        self.subject_setting(SettingTarget::Machine, "overlay", vm::MECHANISMS);
        self.job = Some(job_name("command")?);
        let settings = [
            ("run", mechanisms::command(name)),
            ("metric", mechanisms::METRIC.to_owned()),
            ("runs", MECHANISM_RUNS.to_string()),
            ("warmup", "1".to_owned()),
        ];
        let settings = settings.map(|(name, value)| ("command".to_owned(), name.to_owned(), value));
        self.job_settings.extend(settings);
        Ok(())
    }

    fn set_prefixed(&mut self, parameter: &str, value: &str) -> Result<(), String> {
        match parameter.split_once('.') {
            Some(("subject", name)) => self.subject_setting(SettingTarget::Subject, name, value),
            Some(("sandbox", name)) => {
                self.subject_setting(SettingTarget::Sandbox, short(name), value)
            }
            Some(("machine", name)) => {
                self.subject_setting(SettingTarget::Machine, short(name), value)
            }
            Some(("mmu", name)) => {
                self.subject_setting(SettingTarget::Simulator, short(name), value)
            }
            Some(("sysctl", name)) => self.sysctls.push((name.to_owned(), value.to_owned())),
            Some((job, name)) if workloads::find_job(job).is_some() => {
                self.job_settings.push((job.to_owned(), name.to_owned(), value.to_owned()));
            }
            _ => {
                let names: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
                return Err(format!("no such parameter; choose from {}", names.join(", ")));
            }
        }
        Ok(())
    }

    fn subject_setting(&mut self, of: SettingTarget, name: &str, value: &str) {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.subject_settings.push(SubjectSetting { of, name, value });
    }
}

/// The subject's name of a setting.
pub(crate) fn short(name: &str) -> &str {
    if name == "memory" { "mem" } else { name }
}

/// Whether a plan can set a parameter of this name.
pub fn is_parameter(name: &str) -> bool {
    let group = name.split_once('.').map(|(group, _)| format!("{group}.NAME"));
    PARAMETERS.iter().any(|(known, _)| *known == name || group.as_deref() == Some(*known))
}

/// A job's name; the error lists the known ones.
pub(crate) fn job_name(value: &str) -> Result<String, String> {
    known_name(value, "job", workloads::jobs())
}

fn known_name(
    value: &str,
    what: &str,
    all: impl Iterator<Item = &'static Workload>,
) -> Result<String, String> {
    let names: Vec<&str> = all.map(|workload| workload.name).collect();
    match names.contains(&value) {
        true => Ok(value.to_owned()),
        false => Err(format!("no {what} is named {value:?}; choose from {}", names.join(", "))),
    }
}
