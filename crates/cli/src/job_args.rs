//! The job of `thrashlab run`, as it is typed.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use model::Measure;

use crate::Failure;

/// What is done instead of sampling a probe.
#[derive(Args)]
pub(crate) struct JobArgs {
    /// Time work instead of a probe: session, users who issue the commands of a script
    /// (docs/sessions.md), vmtest or touch, processes at work on memory (docs/memory-jobs.md);
    /// parameters may follow: vmtest:size=24M,loops=5000; without --load only on the quiet machine
    #[arg(
        long,
        value_name = "JOB",
        value_parser = job_text,
        conflicts_with_all = ["probe", "interval", "points", "timeout", "classic", "quick"]
    )]
    pub(crate) job: Option<JobText>,

    /// The script of a session [default: six users, sixteen commands]
    #[arg(long, value_name = "FILE", requires = "job")]
    pub(crate) script: Option<PathBuf>,

    /// Users of a session, instead of the script's
    #[arg(long, value_name = "N", requires = "job")]
    pub(crate) users: Option<u32>,

    /// Another value of a parameter: size=16M, pattern=chase; of a session think=2s, limit=10s,
    /// tools=builtin, or a variable of the script
    #[arg(long, value_name = "NAME=VALUE", requires = "job", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
}

/// A job by its name, and parameters that were typed with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobText {
    pub(crate) name: String,
    pub(crate) settings: Vec<(String, String)>,
}

impl JobArgs {
    /// The job as a measure; `None` if there is none.
    pub(crate) fn measure(&self) -> Result<Option<Measure>, Failure> {
        let Some(JobText { name, settings }) = &self.job else { return Ok(None) };
        if name != workloads::SESSION.name && (self.script.is_some() || self.users.is_some()) {
            return Err(Failure::WrongUse(anyhow!(
                "--script and --users are for --job session; set what {name} has with --set"
            )));
        }
        let script = self.script.iter().map(|path| match path.to_str() {
            Some(path) => Ok(("script".to_owned(), path.to_owned())),
            None => Err(Failure::WrongUse(anyhow!("--script {}: not UTF-8", path.display()))),
        });
        let users = self.users.iter().map(|users| Ok(("users".to_owned(), users.to_string())));
        let set = settings.iter().chain(&self.set).cloned().map(Ok);
        let settings = script.chain(users).chain(set).collect::<Result<Vec<_>, _>>()?;
        let measure = experiment::job(name, &settings, Path::new(""));
        measure.map(Some).map_err(|why| Failure::WrongUse(anyhow!("{why}")))
    }
}

/// Reads `vmtest` and `vmtest:size=24M,loops=5000`.
pub(crate) fn job_text(text: &str) -> Result<JobText, String> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    let name = experiment::known_name(name, "job", workloads::jobs().map(|job| job.name))?;
    let settings = settings.split(',').filter(|part| !part.is_empty());
    Ok(JobText { name, settings: settings.map(setting).collect::<Result<_, _>>()? })
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some(("", _)) | None => Err("write NAME=VALUE, such as think=2s".to_owned()),
        Some(("script", _)) => Err("name the script with --script FILE".to_owned()),
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
    }
}
