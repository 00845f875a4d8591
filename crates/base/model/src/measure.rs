//! What is timed. In files each kind of work is a `job` with a name, maps of parameters and perhaps a
//! script; which kind it is, is decided here, once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Script;

/// Name of the job that repeats the user's own commands.
pub const COMMAND: &str = "command";
/// Name of the job of users who issue the commands of a script.
pub const SESSION: &str = "session";

/// What is timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub enum Measure {
    /// A small interaction, sampled repeatedly.
    Probe(ProbeSpec),
    /// The user's own commands, repeated.
    Command(Box<CommandSpec>),
    /// Users who issue the commands of a script.
    Session(Box<SessionSpec>),
    /// Work on memory, measured in its steady state.
    Memory(Box<JobSpec>),
}

/// How a measure is stored, as the key `probe` or `job`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Stored {
    Probe(ProbeSpec),
    Job(StoredJob),
}

/// Any kind of work.
#[derive(Serialize, Deserialize)]
struct StoredJob {
    #[serde(flatten)]
    job: JobSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    script: Option<Script>,
}

impl From<Stored> for Measure {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Probe(probe) => Self::Probe(probe),
            Stored::Job(StoredJob { job, script: None }) => job.into(),
            Stored::Job(StoredJob { job, script: Some(script) }) => {
                Self::Session(Box::new(SessionSpec { version: job.version, script }))
            }
        }
    }
}

impl From<Measure> for Stored {
    fn from(measure: Measure) -> Self {
        let job = |job, script| Self::Job(StoredJob { job, script });
        match measure {
            Measure::Probe(probe) => Self::Probe(probe),
            Measure::Command(command) => job(command.0, None),
            Measure::Memory(memory) => job(*memory, None),
            Measure::Session(session) => {
                job(JobSpec::new(SESSION, session.version), Some(session.script))
            }
        }
    }
}

impl From<JobSpec> for Measure {
    fn from(job: JobSpec) -> Self {
        match job.name.as_str() {
            COMMAND => Self::Command(Box::new(CommandSpec::new(job))),
            _ => Self::Memory(Box::new(job)),
        }
    }
}

impl Measure {
    /// The probe's or job's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Probe(probe) => &probe.name,
            Self::Command(_) => COMMAND,
            Self::Session(_) => SESSION,
            Self::Memory(job) => &job.name,
        }
    }

    /// Version of the probe's or job's meaning.
    pub fn version(&self) -> u32 {
        match self {
            Self::Probe(probe) => probe.version,
            Self::Command(command) => command.0.version,
            Self::Session(session) => session.version,
            Self::Memory(job) => job.version,
        }
    }

    /// The parameters and choices of a job; a probe and a session have none.
    pub fn settings(&self) -> Option<&JobSpec> {
        match self {
            Self::Probe(_) | Self::Session(_) => None,
            Self::Command(command) => Some(&command.0),
            Self::Memory(job) => Some(job),
        }
    }

    /// Whether it is a small interaction, and no work that is timed and counted itself.
    pub fn is_probe(&self) -> bool {
        matches!(self, Self::Probe(_))
    }
}

/// The probe sampled under the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeSpec {
    /// The probe's name.
    pub name: String,
    /// Version of the probe's meaning.
    pub version: u32,
    /// The probe's parameters as resolved for this subject.
    #[serde(default)]
    pub params: BTreeMap<String, u64>,
}

/// Work that is timed and counted itself, by the names of its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The job's name.
    pub name: String,
    /// Version of the job's meaning.
    pub version: u32,
    /// The job's parameters as resolved for this subject: sizes in bytes, times in ns, counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, u64>,
    /// Choices among named values (`pattern` = `chase`), and texts (`run` = `sort big`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub choices: BTreeMap<String, String>,
}

impl JobSpec {
    /// A job without parameters.
    pub fn new(name: &str, version: u32) -> Self {
        let (params, choices) = (BTreeMap::new(), BTreeMap::new());
        Self { name: name.to_owned(), version, params, choices }
    }
}

/// Users who issue the commands of a script in random order.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSpec {
    /// Version of the job's meaning.
    pub version: u32,
    /// The script.
    pub script: Script,
}

/// When another command line of the user is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Once, before the first repetition.
    Setup,
    /// Before each repetition, untimed.
    Prepare,
    /// Once, after the last repetition.
    Cleanup,
}

impl Hook {
    /// The name of its parameter, and of its option.
    pub fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Prepare => "prepare",
            Self::Cleanup => "cleanup",
        }
    }
}

/// The user's own commands: one line each, all once per pass in random order.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandSpec(JobSpec);

impl CommandSpec {
    /// Parameter: how often a command is repeated; 0 = until its times are known.
    pub const RUNS: &str = "runs";
    /// Parameter: how many repetitions before these are not counted.
    pub const WARMUP: &str = "warmup";
    /// Parameter: least time that the repetitions of all commands take together, in ns; 0 = the
    /// default.
    pub const LEAST: &str = "least";
    /// Parameter: longest time of a repetition, in ns.
    pub const LIMIT: &str = "limit";
    /// Parameter: longest time until a service is ready, in ns.
    pub const START_LIMIT: &str = "start_limit";
    const FOLDER: &str = "folder";

    fn param(&self, name: &str) -> Option<u64> {
        self.0.params.get(name).copied()
    }

    fn text(&self, name: &str) -> &str {
        self.0.choices.get(name).map_or("", String::as_str)
    }

    /// The commands of a job whose name is [`COMMAND`].
    pub fn new(job: JobSpec) -> Self {
        Self(job)
    }

    /// Changes the version of their meaning.
    pub fn with_version(mut self, version: u32) -> Self {
        self.0.version = version;
        self
    }

    /// How often a command is repeated; 0 = until its times are known.
    pub fn runs(&self) -> u64 {
        self.param(Self::RUNS).unwrap_or(0)
    }

    /// Changes [`Self::runs`].
    pub fn set_runs(&mut self, runs: u64) {
        self.0.params.insert(Self::RUNS.to_owned(), runs);
    }

    /// How many repetitions before those that count are not counted.
    pub fn warmup_runs(&self) -> u64 {
        self.param(Self::WARMUP).unwrap_or(0)
    }

    /// The least time that the repetitions of all commands take together, in ns; 0 = the default.
    pub fn least_ns(&self) -> u64 {
        self.param(Self::LEAST).unwrap_or(0)
    }

    /// The longest time of a repetition, in ns.
    pub fn limit_ns(&self) -> u64 {
        self.param(Self::LIMIT).unwrap_or(u64::MAX)
    }

    /// The longest time until a service is ready, in ns.
    pub fn start_limit_ns(&self) -> u64 {
        self.param(Self::START_LIMIT).unwrap_or(u64::MAX)
    }

    /// The command lines.
    pub fn lines(&self) -> &str {
        self.text("run")
    }

    /// The names of the command lines, one line each; empty if they have none.
    pub fn names(&self) -> &str {
        self.text("name")
    }

    /// Where they are executed; empty for a folder of the run.
    pub fn folder(&self) -> &str {
        self.text(Self::FOLDER)
    }

    /// Changes [`Self::folder`].
    pub fn set_folder(&mut self, folder: &str) {
        self.0.choices.insert(Self::FOLDER.to_owned(), folder.to_owned());
    }

    /// The file that is their standard input; empty for none.
    pub fn input(&self) -> &str {
        self.text("input")
    }

    /// The command line at a hook; empty for none.
    pub fn hook(&self, hook: Hook) -> &str {
        self.text(hook.name())
    }

    /// The command line of the service whose clients they are; empty for none.
    pub fn service(&self) -> &str {
        self.text("service").trim()
    }

    /// What shows that the service is ready.
    pub fn ready(&self) -> &str {
        self.text("ready").trim()
    }

    /// The figures in their output, an expression each line; empty for none.
    pub fn metrics(&self) -> &str {
        self.text("metric")
    }

    /// The shell that reads a command line: `auto`, `none`, `sh` or `bash`.
    pub fn shell(&self) -> &str {
        self.text("shell")
    }

    /// Whether failures are counted and do not end the run.
    pub fn ignores_failures(&self) -> bool {
        self.text("failures") == "ignore"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_work_is_stored_as_a_job_and_read_again() {
        let texts = [
            r#"{"probe":{"name":"scan","version":1,"params":{}}}"#,
            r#"{"job":{"name":"command","version":1,"params":{"runs":3},"choices":{"run":"ls"}}}"#,
            r#"{"job":{"name":"touch","version":1,"params":{"footprint":4096}}}"#,
            r#"{"job":{"name":"unknown","version":7}}"#,
        ];
        for text in texts {
            let measure: Measure = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&measure).unwrap(), text);
            assert_eq!(measure.is_probe(), text.contains("probe"));
        }
    }
}
