//! `thrashlab limit`: the limit at which work begins to pay, and the one at which it dies.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{ArgGroup, Args};
use experiment::typed::{Setting, setting};
use experiment::{LimitArgs, TypedJob, is_here, is_live_group, names_live_group};

use crate::command::CommandArgs;
use crate::group::GroupArgs;
use crate::laboratory::{LabArgs, failure};
use crate::output::FormatArgs;
use crate::{Failure, Result, print, sweep};

const EXAMPLES: &str = "\
Examples:
  thrashlab limit -- sort big             how much memory does it need?
  thrashlab limit --price 10% --over sandbox.cpus -- make
                        how many CPUs, if 10 % more time is acceptable?
  thrashlab limit --job touch:48M --set touch.backing=file \\
      --set touch.pattern=uniform
                        a program whose need is known
  thrashlab limit --over sandbox.high --range 1G..64M -- ./test
  thrashlab limit --service './server -p 8080' --ready 8080 \\
      --client './bench 8080' --metric 'p99: ([0-9.]+) ms'
                        how much does this server need?
  sudo thrashlab limit --unit nginx --floor 64M --yes --client './bench 80'
                        and one that is running already?

How it searches, how to read the answer, and how it was checked: docs/limit.md.";

#[derive(Args)]
#[command(
    after_help = EXAMPLES,
    group(ArgGroup::new("work").args(["job", "commands", "words"]).required(true)),
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    command: CommandArgs,

    #[command(flatten)]
    group: GroupArgs,

    /// Time work instead of a probe: touch:48M, vmtest:24M, session; without a command
    #[arg(long, value_name = "JOB")]
    job: Option<TypedJob>,

    #[command(flatten)]
    limit: LimitArgs,

    /// Another parameter of the plan, as in plans: touch.pattern=zipf, sandbox.memory=1G
    #[arg(long, value_name = "PARAM=VALUE", value_parser = setting)]
    set: Vec<Setting>,

    /// Where to run: as with `thrashlab run`, such as a sandbox of another machine [default: sandbox]
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,

    /// Permit it: lower the limits of a group that is there already, which are restored at the end
    #[arg(long)]
    yes: bool,

    /// Folder for the run files; what it has is not run again [default: one of the search's name
    /// in the user's data directory]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Do not observe one more run at a limit that costs more than the price
    #[arg(long)]
    no_profile: bool,

    /// Print the plan as it is understood and run nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    lab: LabArgs,

    #[command(flatten)]
    format: FormatArgs,
}

impl Arguments {
    fn subject(&self) -> String {
        // A subject may be that of the user's settings.
        let named = self.group.subject().or_else(|| self.subject.clone());
        named.unwrap_or_else(|| "sandbox".to_owned())
    }

    fn base(&self) -> Result<Vec<Setting>> {
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let subject = self.subject();
        let mut base = vec![setting("subject", &subject)];
        if let Some(job) = &self.job {
            base.push(setting("job", &job.name));
            let of_job = |(name, value): &Setting| (format!("{}.{name}", job.name), value.clone());
            base.extend(job.settings.iter().map(of_job));
        } else {
            // A server is cold when it has been started, or its limit lowered.
            match self.command.has_service() || is_live_group(&subject) {
                true => base.extend([("warmup", "1"), ("runs", "3")].map(of_command)),
                false => base.push(of_command(("runs", "1"))),
            }
            // A guest and another machine do not have this folder.
            if is_here(&subject) {
                let folder = env::current_dir().context("find the current folder")?;
                let text = folder.to_str();
                let text = text.ok_or_else(|| anyhow!("{}: not UTF-8", folder.display()))?;
                base.push(of_command(("folder", text)));
            }
        }
        base.extend(self.command.settings()?);
        base.extend(self.set.iter().cloned());
        Ok(base)
    }
}

/// A parameter of the job of the user's commands.
fn of_command((name, value): (&str, &str)) -> Setting {
    (format!("command.{name}"), value.to_owned())
}

pub(crate) fn limit(args: &Arguments) -> Result<()> {
    let base = args.base()?;
    if names_live_group(&base) && !(args.yes || args.dry_run) {
        return Err(wrong!(
            "this lowers the limits of a group that thrashlab did not start, step by step down to \
             --floor, and restores them at the end: add --yes if that is permitted"
        ));
    }
    let output = args.output.as_deref();
    let search = experiment::limit(&args.limit, base, output).map_err(failure)?;
    if args.dry_run {
        return print(&search.plan.text());
    }
    let subject = args.subject();
    let is_command = args.job.is_none();
    let observes = is_command && !args.no_profile && is_here(&subject) && !is_live_group(&subject);
    let outcome = sweep::carry_out(search, &args.lab, &args.format, observes);
    if matches!(outcome, Err(Failure::Interrupted)) {
        args.command.clean_up(is_here(&subject));
    }
    outcome
}
