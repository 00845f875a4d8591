//! `thrashlab compare`: what differs, by how much, and how sure that is.

use std::collections::BTreeMap;

use analysis::comparison::{Request, compare as compare_sets};
use analysis::{Dataset, Direction};
use clap::Args;
use formats::Options;
use report::comparison_document;
use stats::Settings;
use store::observations::observations_as;

use crate::by_function::ChangedFunctions;
use crate::fail_on::{FailOn, margin, margin_or};
use crate::output::{OutputArgs, show};
use crate::progress::Progress;
use crate::{OrWrong, Result, complain};

/// The factor of those who time whole commands.
const COMMAND: &str = "command";

const EXAMPLES: &str = "\
Examples:
  thrashlab compare before/ after/     two folders of runs, load by load
  thrashlab compare before/ after/ --margin 5% --fail-on regression
                                    for CI: exit code 1 on a regression
  thrashlab compare before/ after/ -o change.md
                                    as Markdown, for a pull request
  thrashlab compare EXPERIMENT --factor kernel
                                    the levels of a factor in one experiment
  thrashlab compare EXPERIMENT --factor kernel --by-function
                                    which functions of the kernel changed it
  thrashlab compare reference:multics/experiment1 --factor system
  thrashlab compare two-commands.json  the commands of one hyperfine export
  thrashlab compare old.json new.json  exports of hyperfine or Google Benchmark
  thrashlab compare schbench-old/ schbench-new/
                                    folders of one program's files, each a trial
  thrashlab compare work/log/OLD work/log/NEW
                                    two runs of MMTests
  thrashlab compare composite.xml --factor system
                                    the systems of a Phoronix result file
  thrashlab compare old.txt new.txt --response ns/op
                                    outputs of go test -bench
  thrashlab compare old.json new.json --response depth --higher-is-better depth
                                    a counter of which nothing shows the direction

Verdicts are regression, improvement, equivalent (within the margin) and cannot
tell: one per cell, and one over all cells of an arm, which can show a joint
effect that no cell shows alone. Exit code 2 if the inputs measured different
things.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArgs {
    /// Folders of runs, run files, `reference:NAME`, or results of other programs (resp1,
    /// hyperfine, Go, Google Benchmark, cyclictest, schbench, interbench, lkp-tests,
    /// MMTests, Phoronix Test Suite, perf stat, CSV), each a file or a folder; the first one is the
    /// reference
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<String>,

    /// Compare the levels of this factor; within one input, the first level is the reference [default
    /// of an export of hyperfine: its commands]
    #[arg(long, value_name = "FACTOR")]
    factor: Option<String>,

    /// What to compare, separated by commas [default: delays of probes; CPU time and faults of jobs;
    /// of your own commands elapsed and CPU time, or the figures of --metric]
    #[arg(long = "response", value_name = "RESPONSES", value_delimiter = ',')]
    responses: Vec<String>,

    /// More of these is better, separated by commas; replaces what the inputs show
    #[arg(long, value_name = "RESPONSES", value_delimiter = ',')]
    higher_is_better: Vec<String>,

    /// Less of these is better, separated by commas; replaces what the inputs show
    #[arg(long, value_name = "RESPONSES", value_delimiter = ',')]
    lower_is_better: Vec<String>,

    /// Smallest difference that matters [default: that of --fail-on, else that of
    /// `ab` in its folder, else 10%]
    #[arg(long, value_name = "PERCENT", value_parser = margin)]
    margin: Option<f64>,

    /// Chance of any wrong verdict
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = alpha)]
    alpha: f64,

    /// Exit with 1 on a regression, of a cell or over all cells, or only on one beyond a margin; also
    /// where the verdict is "cannot tell": `regression[:15%][,unclear]`
    #[arg(long, value_name = "WHAT", value_parser = FailOn::parse)]
    fail_on: Option<FailOn>,

    /// Accept CSV trials that repeat another one value for value
    #[arg(long)]
    allow_repeats: bool,

    /// Repeat runs of the deterministic machine under observation, and name the functions that account
    /// for the largest change
    #[arg(long)]
    pub(crate) by_function: bool,

    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn compare(args: &CompareArgs) -> Result<()> {
    let options = Options {
        responses: args.responses.clone(),
        factors: args.factor.iter().cloned().collect(),
        allow_repeats: args.allow_repeats,
    };
    let sets = args
        .inputs
        .iter()
        .map(|input| observations_as(input, None, &options))
        .collect::<Result<Vec<_>, _>>()
        .or_wrong("read what is to be compared")?;
    let usual = sets.iter().find_map(|set| set.margin).unwrap_or(Settings::default().margin);
    let margin = margin_or(usual, args.margin, args.fail_on);
    let request = Request {
        factor: args.factor.clone().or_else(|| commands(&sets)),
        responses: args.responses.clone(),
        directions: directions(args)?,
        settings: Settings { margin, alpha: args.alpha },
    };
    let found = compare_sets(&sets, &request).or_wrong("nothing was compared")?;
    let mut document = comparison_document(&found);
    if args.by_function {
        match ChangedFunctions::of(&found, &Progress::new(false, None))? {
            Ok(functions) => document = functions.add_to(document, &found),
            Err(why) => complain(&format!("thrashlab: no function is named: {why}")),
        }
    }
    show(&document, &args.output)?;
    args.fail_on.map_or(Ok(()), |fail_on| fail_on.judge(&found))
}

/// The directions that the user knows. Fails for a response that is in both lists.
fn directions(args: &CompareArgs) -> Result<BTreeMap<String, Direction>> {
    let (more, less) = (&args.higher_is_better, &args.lower_is_better);
    if let Some(both) = more.iter().find(|name| less.contains(name)) {
        return Err(wrong!("{both} is in --higher-is-better and in --lower-is-better"));
    }
    let more = more.iter().map(|name| (name.clone(), Direction::MoreIsBetter));
    let less = less.iter().map(|name| (name.clone(), Direction::LessIsBetter));
    Ok(more.chain(less).collect())
}

/// The factor of a single input that varies commands and nothing else.
fn commands(sets: &[Dataset]) -> Option<String> {
    let [set] = sets else { return None };
    let mut varied = set.factors.iter().filter(|factor| factor.levels.len() > 1);
    let factor = varied.next().filter(|factor| factor.name == COMMAND)?;
    varied.next().is_none().then(|| factor.name.clone())
}

pub(crate) fn alpha(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(alpha) if alpha > 0.0 && alpha < 0.5 => Ok(alpha),
        _ => Err("a chance of error is above 0 and below 0.5, such as 0.05".to_owned()),
    }
}
