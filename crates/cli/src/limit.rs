//! `thrashlab limit`: the limit at which work begins to pay, and the one at which it dies.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;
use experiment::typed::{Setting, setting};
use experiment::{LimitArgs, TypedJob};

use crate::command::CommandOptions;
use crate::laboratory::{LabArgs, failure};
use crate::{Result, print, sweep, wrong};

const EXAMPLES: &str = "\
Examples:
  thrashlab limit -- sort big                       how much memory does it need?
  thrashlab limit --price 10% --over sandbox.cpus -- make
                                                    how many CPUs, if 10 % more time is acceptable?
  thrashlab limit --job touch:48M --set touch.backing=file --set touch.pattern=uniform
                                                    a program whose need is known
  thrashlab limit --over sandbox.high --range 1G..64M -- ./service-test

How it searches, how to read the answer, and how it was checked: docs/limit.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The command that is limited, with its arguments, after --
    #[arg(
        value_name = "COMMAND",
        last = true,
        required_unless_present = "job",
        conflicts_with = "job"
    )]
    command: Vec<String>,

    #[command(flatten)]
    options: CommandOptions,

    /// Time work instead of a probe: touch:48M, vmtest:24M, session; without a command
    #[arg(long, value_name = "JOB")]
    job: Option<TypedJob>,

    #[command(flatten)]
    limit: LimitArgs,

    /// Another parameter of the plan, as in plans: touch.pattern=zipf, sandbox.memory=1G
    #[arg(long, value_name = "PARAM=VALUE", value_parser = setting)]
    set: Vec<Setting>,

    /// Where to run: sandbox, or a sandbox of another machine, as with `thrashlab run`
    #[arg(long, value_name = "SUBJECT", default_value = "sandbox")]
    subject: String,

    /// Folder for the run files; what it has is not run again [default: one of the search's name
    /// in the user's data directory]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Print the plan as it is understood and run nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    lab: LabArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    fn base(&self) -> Result<Vec<Setting>> {
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut base = vec![setting("subject", &self.subject)];
        match &self.job {
            Some(job) => {
                base.push(setting("job", &job.name));
                let of_job =
                    |(name, value): &Setting| (format!("{}.{name}", job.name), value.clone());
                base.extend(job.settings.iter().map(of_job));
            }
            None => {
                let run = workloads::command_text(&self.command).map_err(wrong)?;
                base.extend([setting("job", model::COMMAND), setting("command.run", &run)]);
                base.push(setting("command.runs", "1"));
                // A guest and another machine do not have this folder.
                if ["host", "sandbox"].iter().any(|kind| self.subject.starts_with(kind)) {
                    let folder = env::current_dir().context("find the current folder")?;
                    let text = folder.to_str();
                    let text = text.ok_or_else(|| anyhow!("{}: not UTF-8", folder.display()))?;
                    base.push(setting("command.folder", text));
                }
            }
        }
        base.extend(self.options.settings(self.job.is_none())?);
        base.extend(self.set.iter().cloned());
        Ok(base)
    }
}

pub(crate) fn limit(args: &Arguments) -> Result<()> {
    let output = args.output.as_deref();
    let search = experiment::limit(&args.limit, args.base()?, output).map_err(failure)?;
    if args.dry_run {
        return print(&search.plan.text());
    }
    sweep::carry_out(search, &args.lab, args.json)
}
