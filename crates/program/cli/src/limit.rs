//! `thrashlab limit`: the limit at which work begins to pay, and the one at which it dies.

use std::path::PathBuf;

use clap::Args;
use experiment::{LimitArgs, is_here, is_live_group, times_command};

use crate::laboratory::{LabArgs, failure};
use crate::output::FormatArgs;
use crate::work::{UsualSubject, WorkArgs};
use crate::{Result, print, sweep};

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
    mut_group("timed", |group| group.required(true)),
    mut_arg("probe", |probe| probe.hide(true)),
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    work: WorkArgs,

    #[command(flatten)]
    limit: LimitArgs,

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

pub(crate) fn limit(args: &Arguments) -> Result<()> {
    let usual = UsualSubject::Preferred(Some("sandbox"));
    let base = args.work.settings_with_load(usual, None)?;
    let (is_live, may_observe) = (is_live_group(&base), times_command(&base) && is_here(&base));
    if is_live && !(args.yes || args.dry_run) {
        return Err(wrong!(
            "this lowers the limits of a group that thrashlab did not start, step by step down to \
             --floor, and restores them at the end: add --yes if that is permitted"
        ));
    }
    let search = experiment::limit(&args.limit, base, args.output.as_deref()).map_err(failure)?;
    if args.dry_run {
        return print(&search.plan.text());
    }
    let observes = may_observe && !is_live && !args.no_profile;
    sweep::carry_out(search, &args.work.command, &args.lab, &args.format, observes)
}
