//! What is measured and where: the same options, with one precedence, for all commands that make
//! runs.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args};
use experiment::typed::{Setting, setting};
use experiment::{SubjectArg, TypedJob, with_full_names};
use workloads::{Workload, loads_and_provocations, probes};

use crate::command::CommandArgs;
use crate::{Result, settings};

#[derive(Args)]
#[command(group(ArgGroup::new("timed").args(["job", "commands", "words"]).conflicts_with("probe")))]
pub(crate) struct WorkArgs {
    /// Where to run: `host[:mem=SIZE]`, `sandbox[:mem=SIZE,cpus=N,pids=N]`,
    /// `group:unit=NAME` (also pid=, path=; high=, max=: docs/services.md),
    /// `vm[:machine=NAME,kernel=KERNEL,…]` (docs/vm.md), `mmu[:machine=NAME,hat=NAME,…]`
    /// (docs/mmu.md) or `ssh://[USER@]HOST[:PORT][,host…|,sandbox…]` (docs/remote.md) [default: a
    /// sandbox of 512M where possible, else the host; of `thrashlab limit` a sandbox; of an `ab` of
    /// kernel, machine, cmdline, overlay, root or thp vm]
    #[arg(long, value_name = "SUBJECT", value_parser = subject)]
    subject: Option<String>,

    /// A systemd unit that runs already: its control group is measured from outside
    #[arg(long, value_name = "UNIT", conflicts_with_all = ["subject", "pid", "cgroup"])]
    unit: Option<String>,

    /// Measure the control group of this process: also that of a container
    #[arg(long, value_name = "PID", conflicts_with_all = ["subject", "cgroup"])]
    pid: Option<u32>,

    /// A control group: it is there already, and is measured from outside; by its folder or its name
    /// under /sys/fs/cgroup
    #[arg(long, value_name = "PATH", conflicts_with = "subject")]
    cgroup: Option<PathBuf>,

    /// The load in the background; `thrashlab run` takes several, separated by commas [default:
    /// none; of `thrashlab run` with a probe all]
    #[arg(id = "load", long, value_name = "LOAD", value_delimiter = ',',
        value_parser = workload(loads_and_provocations()))]
    pub(crate) loads: Vec<String>,

    /// The interaction that is timed [default: response]
    #[arg(long, value_name = "PROBE", value_parser = workload(probes()))]
    probe: Option<String>,

    /// Time work instead of a probe: session, users who issue the commands of a script
    /// (docs/sessions.md); vmtest or touch, processes that access memory (docs/memory-jobs.md).
    /// Parameters may follow: vmtest:size=24M,loops=5000. Without --load the machine is otherwise
    /// idle
    #[arg(long, value_name = "JOB")]
    job: Option<TypedJob>,

    /// The script of a session [default: six users, sixteen commands]
    #[arg(long, value_name = "FILE", requires = "job", conflicts_with_all = ["commands", "words"])]
    script: Option<PathBuf>,

    /// Users of a session, instead of the script's
    #[arg(long, value_name = "N", requires = "job", conflicts_with_all = ["commands", "words"])]
    users: Option<u32>,

    /// Set a parameter by its name in plans (vmtest.size=16M, sysctl.vm.swappiness=10), or one of
    /// the job by its short name: size=16M; for a session think=2s, limit=10s, tools=builtin, or a
    /// variable of the script; may be repeated, and is stronger than other options
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<Setting>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

/// The subject where none is typed.
pub(crate) enum UsualSubject {
    /// The one of the user's settings, else this one.
    Preferred(Option<&'static str>),
    /// This one, whatever the user's settings are; `None` = what the plan says.
    Needed(Option<&'static str>),
}

impl WorkArgs {
    /// The settings of a plan, without the load. `work` is what the command's other arguments name:
    /// a job, a probe or a load.
    ///
    /// The last value of a parameter counts: what `--set` names, else another option,
    /// else what the command needs, else the user's settings, else the command's default.
    pub(crate) fn settings(
        &self,
        usual: UsualSubject,
        work: Option<Setting>,
    ) -> Result<Vec<Setting>> {
        let named = |name: &str, value: String| (name.to_owned(), value);
        let subject = self.subject(usual).map(|subject| named("subject", subject));
        let mut all: Vec<Setting> = subject.into_iter().collect();
        self.refuse_second(work.as_ref())?;
        let is_timed =
            self.command.is_given() || work.as_ref().is_some_and(|(_, it)| it == model::COMMAND);
        all.extend(work);
        all.extend(self.probe.clone().map(|probe| named("probe", probe)));
        if let Some(job) = &self.job {
            let is_session = job.name == workloads::SESSION.name;
            if !is_session && (self.script.is_some() || self.users.is_some()) {
                return Err(wrong!(
                    "--script and --users are for --job session; set what {} has with --set",
                    job.name
                ));
            }
        }
        if let Some(path) = &self.script {
            let path = path.to_str().ok_or_else(|| wrong!("--script {path:?}: not UTF-8"))?;
            all.push(named("session.script", path.to_owned()));
        }
        all.extend(self.users.map(|users| named("session.users", users.to_string())));
        all.extend(self.job.iter().flat_map(TypedJob::in_plan));
        all.extend(self.command.settings(is_timed)?);
        Ok(with_full_names(all, &self.set))
    }

    /// The settings of a plan as in [`Self::settings`], with one load in the background at most. Fails
    /// if there are several.
    pub(crate) fn settings_with_load(
        &self,
        usual: UsualSubject,
        work: Option<Setting>,
    ) -> Result<Vec<Setting>> {
        let mut all = self.settings(usual, work)?;
        all.splice(0..0, self.load()?);
        Ok(all)
    }

    /// The subject as it is typed, or the usual one.
    fn subject(&self, usual: UsualSubject) -> Option<String> {
        let path = self.cgroup.as_ref().map(|path| path.display().to_string());
        let groups = [
            ("unit", self.unit.clone()),
            ("pid", self.pid.map(|it| it.to_string())),
            ("path", path),
        ];
        let group = groups.into_iter().find_map(|(name, value)| Some((name, value?)));
        let group = group.map(|(name, value)| format!("group:{name}={value}"));
        // A subject may be that of the user's settings.
        let typed = self.subject.clone().filter(|_| settings::is_given("subject"));
        let usual = match usual {
            UsualSubject::Preferred(other) => {
                self.subject.clone().or_else(|| other.map(str::to_owned))
            }
            UsualSubject::Needed(needed) => needed.map(str::to_owned),
        };
        group.or(typed).or(usual)
    }

    /// The load in the background as a setting. Fails if there are several.
    fn load(&self) -> Result<Option<Setting>> {
        match &self.loads[..] {
            [] => Ok(None),
            [load] => Ok(Some(("load".to_owned(), load.clone()))),
            [first, ..] => Err(wrong!(
                "--load {}: one load at a time, such as --load {first}; several are measured by \
                 thrashlab run, or as levels of a plan (docs/experiments.md)",
                self.loads.join(",")
            )),
        }
    }

    /// Fails if an option names what another argument names already.
    fn refuse_second(&self, work: Option<&Setting>) -> Result<()> {
        let Some((parameter, value)) = work else { return Ok(()) };
        let given = match parameter.as_str() {
            "job" if self.command.is_given() && value != model::COMMAND => "a command",
            "job" if self.job.is_some() => "--job",
            "job" | "probe" if self.probe.is_some() => "--probe",
            "load" if !self.loads.is_empty() => "--load",
            "probe" if self.job.is_some() || self.command.is_given() => "a job",
            _ => return Ok(()),
        };
        Err(wrong!("{value} and {given}: name one of them"))
    }
}

/// Reads a subject, which stays text until all settings are known.
fn subject(text: &str) -> Result<String, String> {
    text.parse::<SubjectArg>().map(|_| text.to_owned())
}

/// Reads the name of a workload; help and completion list all of them.
pub(crate) fn workload(
    all: impl Iterator<Item = &'static Workload>,
) -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(all.map(|it| PossibleValue::new(it.name).help(it.about)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use experiment::typed::last;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        work: WorkArgs,
    }

    fn settings(line: &str, usual: UsualSubject) -> Vec<Setting> {
        let line = Line::try_parse_from(line.split(' ')).unwrap();
        line.work.settings(usual, None).ok().unwrap()
    }

    #[test]
    fn a_set_subject_is_stronger_than_another_and_that_of_a_group_than_the_usual_one() {
        let subject = |line: &str, usual| {
            last(&settings(line, usual), "subject").map(str::to_owned).unwrap_or_default()
        };
        let sandbox = || UsualSubject::Preferred(Some("sandbox"));
        assert_eq!(subject("ab --job vmtest", UsualSubject::Needed(Some("vm"))), "vm");
        // Here it is the user's default, as nothing was given to this process.
        assert_eq!(subject("run --subject host", sandbox()), "host");
        assert_eq!(subject("run --subject host", UsualSubject::Needed(None)), "");
        assert_eq!(subject("limit --job vmtest", sandbox()), "sandbox");
        assert_eq!(subject("limit --pid 7", sandbox()), "group:pid=7");
        assert_eq!(subject("limit --pid 7 --set subject=host", sandbox()), "host");
    }

    #[test]
    fn words_stay_words_and_a_second_job_is_refused() {
        let line = ["run", "--", "./my bench", "--fast", "it's"];
        let work = Line::try_parse_from(line).unwrap().work;
        let all = work.settings(UsualSubject::Needed(None), None).ok().unwrap();
        assert_eq!(last(&all, "command.run"), Some("'./my bench' --fast \"it's\""));
        let named = Some(("job".to_owned(), "vmtest".to_owned()));
        assert!(work.settings(UsualSubject::Needed(None), named).is_err());
        let two = Line::try_parse_from(["ab", "--load", "cpuload,2ctx-mem"]).unwrap().work;
        assert!(two.load().is_err());
    }
}
