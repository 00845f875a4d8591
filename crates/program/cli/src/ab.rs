//! `thrashlab ab`: two levels of one factor, run by turns until it is certain how they differ.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use analysis::ab::{AbLook, Stop};
use anyhow::anyhow;
use clap::Args;
use experiment::{Ab, TypedAb};
use report::ab_document;
use workloads::words_of;

use crate::by_function::ChangedFunctions;
use crate::by_sampling::sampled_difference;
use crate::compare::alpha;
use crate::fail_on::{FailOn, margin, margin_or};
use crate::failed_start::ResultsStart;
use crate::laboratory::{LabArgs, drive, failure};
use crate::output::{FormatArgs, show_in};
use crate::progress::Progress;
use crate::work::{UsualSubject, WorkArgs};
use crate::{Failure, print};

/// Smallest difference that matters: below it, equivalence takes more blocks than most wait for.
const MARGIN: f64 = 0.03;

const EXAMPLES: &str = "\
Examples:
  thrashlab ab command './old' './new'    two command lines
  thrashlab ab command './old' './new' --load cpuload --fail-on regression:5%
                        under a load; for CI: exit code 1
  thrashlab ab git v1.2 HEAD --build 'make' -- ./bench --fast
                        two revisions, each built in its own folder
  thrashlab ab sysctl.vm.swappiness 60 10 -- ./bench
                        a kernel parameter of this host (root)
  thrashlab ab kernel deb:A deb:B         two kernels, in the deterministic machine
  thrashlab ab thp always never --job vmtest
                        a setting of its guest
  thrashlab ab load noload cpuload --probe wake
                        the delays of a probe with and without a load
  thrashlab ab command './old' './new' -n old -n new --prepare 'rm -f out'
                        with names, and what undoes each repetition
  thrashlab ab command './old' './new' --dry-run
                        the plan, for `thrashlab experiment`

Blocks of one run of each, in random order, until the verdict is certain:
different, or equivalent within the margin. The chance of a wrong one is 1 %
over all looks. To resume an interrupted comparison, run the same command again.
The functions that account for a change are named, of commands of this machine by
samples.
How it decides: docs/ab.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AbArgs {
    #[command(flatten)]
    typed: TypedAb,

    #[command(flatten)]
    work: WorkArgs,

    /// Smallest difference that matters [default: that of --fail-on, else 3%]
    #[arg(long, value_name = "PERCENT", value_parser = margin)]
    margin: Option<f64>,

    /// Chance of any wrong verdict
    #[arg(long, value_name = "P", default_value_t = 0.01, value_parser = alpha)]
    alpha: f64,

    /// Exit with 1 on a regression, of a cell or over all cells, or only on one beyond a margin; also
    /// where the verdict is "cannot tell": `regression[:15%][,unclear]`
    #[arg(long, value_name = "WHAT", value_parser = FailOn::parse)]
    fail_on: Option<FailOn>,

    /// Print the plan as it is understood and run nothing
    #[arg(long)]
    dry_run: bool,

    /// Folder for the run files; what it has is not run again [default: one of its name in the
    /// user's data directory, a new one if it is over]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,

    #[command(flatten)]
    lab: LabArgs,

    #[command(flatten)]
    format: FormatArgs,
}

impl AbArgs {
    fn planned(&self, margin: f64) -> Result<Ab, Failure> {
        let usual = match self.typed.needed_subject() {
            Some(needed) => UsualSubject::Needed(needed),
            None => UsualSubject::Preferred(None),
        };
        let base = self.work.settings_with_load(usual, self.typed.work())?;
        let output = self.output.as_deref();
        Ab::new(&self.typed, base, margin, self.alpha, output).map_err(failure)
    }
}

pub(crate) fn ab(args: &AbArgs) -> Result<(), Failure> {
    let margin = margin_or(MARGIN, args.margin, args.fail_on);
    let mut ab = args.planned(margin)?;
    if args.dry_run {
        return print(ab.plan_text());
    }
    let start = ResultsStart::at(ab.folder());
    ab.open().map_err(failure)?;
    let folder = ab.folder().to_owned();
    let mut progress = args.lab.progress()?;
    let mut last = None;
    let begun = Instant::now();
    let outcome = drive(&args.lab.options, &mut progress, |driver| ab.run(&mut last, driver));
    let took = begun.elapsed();
    if let Some(look) = &last {
        show_look(args, look, &|| match outcome {
            Ok(()) => changed_functions(&ab, args.alpha, look, took, &progress),
            Err(_) => Ok(None),
        })?;
    }
    if !matches!(outcome, Err(Failure::Interrupted)) && start.remove_if_failed() {
        progress.say(&start.text());
        outcome?;
        return last.map_or(Ok(()), |look| verdict(&look, args.fail_on));
    }
    let folder = model::shown::quoted(&folder.to_string_lossy());
    match (&outcome, &last) {
        (Err(Failure::Interrupted), last) => {
            if last.is_none() {
                ab.seen_before_looks().iter().for_each(|seen| progress.say(seen));
            }
            args.work.command.clean_up(ab.is_in_this_folder());
            progress.say(&format!("stopped; run the same command again to resume it ({folder})"));
        }
        (Ok(()), Some(_)) => {
            progress.say(&format!("run files, for compare, attribute and report: {folder}"));
        }
        _ => {}
    }
    outcome?;
    last.map_or(Ok(()), |look| verdict(&look, args.fail_on))
}

/// Prints a result, and the functions that account for it: as text after the result, which is not kept
/// waiting for them.
fn show_look(
    args: &AbArgs,
    look: &AbLook,
    functions: &dyn Fn() -> Result<Option<ChangedFunctions>, Failure>,
) -> Result<(), Failure> {
    let (document, output) = (ab_document(look, args.alpha), &args.format);
    if output.is_text() {
        show_in(&document, output)?;
        if let Some(functions) = functions()? {
            print("\n")?;
            show_in(&functions.document(), output)?;
        }
        return Ok(());
    }
    match functions() {
        Ok(Some(functions)) => show_in(&functions.add_to(document, look), output),
        without => {
            show_in(&document, output)?;
            without.map(drop)
        }
    }
}

/// The functions that account for the difference, if there is one and they can be observed: in the
/// deterministic machine, or of two plain commands of this machine.
fn changed_functions(
    ab: &Ab,
    level: f64,
    look: &AbLook,
    took: Duration,
    progress: &Progress,
) -> Result<Option<ChangedFunctions>, Failure> {
    if let Ok(functions) = ChangedFunctions::of(&look.comparison, progress)? {
        return Ok(Some(functions));
    }
    let is_different = matches!(look.stop, Some(Stop::Different | Stop::Second));
    let Some(lines) = ab.lines_of_this_machine().filter(|_| is_different) else {
        return Ok(None);
    };
    let [Ok(first), Ok(second)] = lines.map(|line| words_of(line, "")) else { return Ok(None) };
    let [first_arm, second_arm] = &look.comparison.arms[..] else { return Ok(None) };
    let names = [first_arm, second_arm].map(|arm| arm.name.to_string());
    let difference = sampled_difference(&[first, second], level, took, progress)?;
    Ok(difference.map(|difference| ChangedFunctions { names, difference }))
}

/// The exit code.
fn verdict(look: &AbLook, fail_on: Option<FailOn>) -> Result<(), Failure> {
    if look.stop == Some(Stop::AllFailed) {
        return Err(Failure::NotMeasured(anyhow!("every run failed")));
    }
    let deciding = match (look.stop, &look.second) {
        (Some(Stop::Second), Some(second)) => second,
        _ => &look.comparison,
    };
    fail_on.map_or(Ok(()), |fail_on| fail_on.judge(deciding))
}
