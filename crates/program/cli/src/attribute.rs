//! `thrashlab attribute`: which factor and which part of the work caused a change.

use analysis::Dataset;
use analysis::attribution::{Attribution, Options, attribute as attribution, ledger};
use anyhow::Context;
use clap::Args;
use model::units::parse_duration_ns;
use report::attribution_document;
use store::observations::observations_as;
use store::reference::add_conditions;

use crate::output::{OutputArgs, show};
use crate::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  thrashlab attribute reference:multics/experiment4
                                      two compilers on three systems (1973)
  thrashlab attribute reference:multics/experiment1 --mediator page_faults \\
      --unit-cost 8ms --per 6
                                      how much CPU time paging explains
  thrashlab attribute results/ --factor kernel,compiler --response cpu_ns
  thrashlab attribute results/ --levels kernel=6.1,6.12  two of several kernels
  thrashlab attribute reference:multics/experiment1 \\
      reference:multics/experiment2 --ledger
                                      in which conditions two experiments differ

An experiment is a folder of run files, a CSV with one row per trial, or a
published result. In a CSV, columns that end in a unit (cpu_s, page_faults) were
measured; `trial`, `block`, `seed` and `command` have that meaning; every other
column is a factor.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AttributeArgs {
    /// A folder of run files, a CSV table, or `reference:NAME`; for several, the conditions in
    /// which they differ are listed too
    #[arg(required = true, value_name = "EXPERIMENT")]
    what: Vec<String>,

    /// What was measured [default: CPU time, faults or delays, whichever most trials have]
    #[arg(long, value_name = "RESPONSE")]
    response: Option<String>,

    /// Factors, separated by commas; others are averaged over, within each of their levels
    /// [default: all with two levels or more]
    #[arg(long = "factor", value_name = "FACTORS", value_delimiter = ',')]
    factors: Vec<String>,

    /// Levels of a factor to use, the reference first; may be repeated
    #[arg(long, value_name = "FACTOR=A,B", value_parser = levels)]
    levels: Vec<(String, Vec<String>)>,

    /// A counter that may explain the response [default: page faults, if the response is a time]
    #[arg(long, value_name = "RESPONSE")]
    mediator: Option<String>,

    /// What one count of the mediator costs, such as 8ms [default: estimated from the trials]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    unit_cost: Option<u64>,

    /// Number of users that share the mediator's count, if the response is per user
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    per: Option<u32>,

    /// Confidence of the answer: of all intervals
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = confidence)]
    confidence: f64,

    /// Accept CSV trials that repeat another one value for value
    #[arg(long)]
    allow_repeats: bool,

    /// List only the conditions in which the experiments differ
    #[arg(long)]
    ledger: bool,

    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn attribute(args: &AttributeArgs) -> Result<()> {
    let datasets = args.what.iter().map(|what| read(what, args.allow_repeats));
    let datasets: Vec<Dataset> =
        datasets.collect::<anyhow::Result<_>>().map_err(Failure::WrongUse)?;
    let options = Options {
        response: args.response.clone(),
        factors: args.factors.clone(),
        levels: args.levels.iter().cloned().collect(),
        mediator: args.mediator.clone(),
        unit_cost_ns: args.unit_cost.map(|cost_ns| cost_ns as f64),
        per: args.per.map(f64::from),
        confidence: args.confidence,
    };
    let found: Vec<Attribution> = datasets
        .iter()
        .filter(|_| !args.ledger)
        .map(|dataset| attribution(dataset, &options).context("attribute"))
        .collect::<anyhow::Result<_>>()
        .map_err(Failure::WrongUse)?;
    let ledger = (args.ledger || datasets.len() > 1).then(|| ledger(&datasets));
    show(&attribution_document(&found, ledger.as_ref()), &args.output)
}

fn read(what: &str, allow_repeats: bool) -> anyhow::Result<Dataset> {
    let reading = formats::Options { allow_repeats, ..formats::Options::default() };
    let found = observations_as(what, None, &reading);
    let mut dataset = found.context("read the experiment")?;
    add_conditions(&mut dataset);
    Ok(dataset)
}

/// Reads `system=17.11,18.9`.
fn levels(text: &str) -> Result<(String, Vec<String>), String> {
    let hint = || "write FACTOR=A,B, such as system=17.11,18.9".to_owned();
    let (factor, levels) = text.split_once('=').ok_or_else(hint)?;
    let levels: Vec<String> = levels.split(',').map(str::to_owned).collect();
    let distinct: std::collections::BTreeSet<&String> = levels.iter().collect();
    if factor.is_empty() || levels.iter().any(String::is_empty) || distinct.len() < 2 {
        return Err(hint());
    }
    if distinct.len() < levels.len() {
        return Err(format!("a level appears twice in {text:?}"));
    }
    Ok((factor.to_owned(), levels))
}

fn confidence(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("a confidence is between 0 and 1, such as 0.95".to_owned()),
    }
}
