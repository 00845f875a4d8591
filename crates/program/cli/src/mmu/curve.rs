//! `thrashlab mmu curve`: miss-ratio curves and working sets of a trace.

use analysis::sweep::{Curve, Settings, SweepResult, find};
use anyhow::{Context, anyhow};
use clap::Args;
use curves::{miss_ratio_csv, miss_ratio_document, over_entries};
use experiment::typed::factor;
use mmu::curve::{Profile, Profiled, Request, Sampling, Unit};
use model::units::parse_size_bytes;
use stats::KneeSettings;
use trace::Granularity;

use crate::output::{OutputArgs, show};
use crate::trace::input::{Input, InputArgs};
use crate::{Failure, Result, complain, print};

const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  thrashlab mmu curve t.tlt
                                   misses of an LRU cache of 4K pages, all sizes
  thrashlab mmu curve t.tlt --page 4K,64K,2M  the same for several page sizes
  thrashlab mmu curve t.tlt --line            and of 64-byte lines
  thrashlab mmu curve t.tlt --sets 16,128     and set-associative ones, by ways
  thrashlab mmu curve t.tlt --sample 0.01
                                   from one page in a hundred, with bounds
  thrashlab mmu curve t.tlt --sample-size 8192
                                   from at most 8192 pages, which bounds memory
  thrashlab mmu curve t.tlt --working-set     how much is in use over time

Methods, formulas and limits: docs/mmu-curve.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CurveArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Page sizes, powers of two from 4K [default: 4K, unless --line is given]
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = page)]
    page: Vec<Unit>,

    /// Also draw the curve of 64-byte lines
    #[arg(long)]
    line: bool,

    /// Numbers of sets, powers of two, for curves by ways
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    sets: Vec<u64>,

    /// Largest number of ways
    #[arg(long, value_name = "N", default_value_t = 32, requires = "sets",
        value_parser = clap::value_parser!(u32).range(1..=4096))]
    ways: u32,

    /// Fraction of the pages to sample, such as 0.01
    #[arg(long, value_name = "RATE", conflicts_with = "sample_size")]
    sample: Option<f64>,

    /// Maximum number of pages to sample
    #[arg(long, value_name = "PAGES")]
    sample_size: Option<usize>,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// The working set over time, in windows of this many references
    #[arg(long, value_name = "WINDOW", num_args = 0..=1, default_missing_value = "1048576",
        value_parser = clap::value_parser!(u64).range(1..))]
    working_set: Option<u64>,

    /// Only this process, by its number in the trace
    #[arg(long, value_name = "N")]
    process: Option<u32>,

    /// Minimum rise of the cost that counts as a knee
    #[arg(long, value_name = "FACTOR", default_value_t = KneeSettings::default().least_rise,
        value_parser = factor)]
    least_rise: f64,

    /// Print all points of the curves as CSV
    #[arg(long, conflicts_with_all = ["json", "format", "output"])]
    csv: bool,

    #[command(flatten)]
    output: OutputArgs,
}

fn page(text: &str) -> Result<Unit, String> {
    let size_bytes = parse_size_bytes(text)?;
    let unit = Unit::new(size_bytes).map_err(|error| error.to_string())?;
    match unit.is_line() {
        true => Err("64 bytes are a line: use --line".to_owned()),
        false => Ok(unit),
    }
}

pub(crate) fn curve(args: &CurveArgs) -> Result<()> {
    let request = request(args);
    let mut profile = Profile::new(&request).map_err(|error| Failure::WrongUse(error.into()))?;
    let name = args.input.path.display().to_string();
    let needs_lines = request.units.iter().any(|unit| unit.is_line());
    let columns = if needs_lines { Granularity::Reference } else { Granularity::Page };
    let mut input = Input::open(&args.input, columns)?;
    let outcome = input.for_each(|block| {
        let counted = profile.block(block).with_context(|| name.clone());
        counted.map_err(Failure::WrongUse)
    });
    // Ctrl-C ends the reading: what was read until then has a curve too.
    let stopped = matches!(outcome, Err(Failure::Interrupted));
    if !stopped {
        outcome?;
    }
    let profiled = profile.finish();
    if profiled.references == 0 && stopped {
        return Err(Failure::Interrupted);
    }
    if profiled.references == 0 {
        let why = match profiled.process {
            Some(process) => format!("process {process} has no references in it"),
            None => "it has no references".to_owned(),
        };
        return Err(Failure::NotMeasured(anyhow!("{name}: {why}; see thrashlab trace stat")));
    }
    let mut notes = input.notes().problems();
    if stopped {
        notes
            .push(format!("stopped: the curve is of the first {} references", profiled.references));
    }
    print_curves(args, &name, &profiled, &notes)?;
    if stopped { Err(Failure::Interrupted) } else { Ok(()) }
}

fn request(args: &CurveArgs) -> Request {
    let mut units = args.page.clone();
    if units.is_empty() && !args.line {
        units.extend(Unit::new(1 << trace::PAGE_SHIFT));
    }
    units.extend(args.line.then_some(Unit::LINE));
    let sampling = args.sample.map(Sampling::Rate);
    Request {
        units,
        sets: args.sets.clone(),
        ways: args.ways as usize,
        sampling: sampling.or(args.sample_size.map(Sampling::Keys)),
        seed: args.seed,
        window: args.working_set,
        process: args.process,
    }
}

fn print_curves(args: &CurveArgs, name: &str, profiled: &Profiled, notes: &[String]) -> Result<()> {
    if args.csv {
        notes.iter().for_each(|note| complain(&format!("thrashlab: {note}")));
        return print(&miss_ratio_csv(profiled));
    }
    let mut settings = Settings::default();
    settings.knee.least_rise = args.least_rise;
    let knees: Vec<(Curve, SweepResult)> = profiled
        .units
        .iter()
        .map(|unit| {
            let curve = over_entries(name, unit);
            let found = find(&curve, &settings);
            (curve, found)
        })
        .collect();
    let data = as_json(name, profiled, &knees, notes)?;
    let least_rise = args.least_rise;
    let document = miss_ratio_document(name, profiled, &knees, least_rise, notes);
    show(&document.with_data(data), &args.output)
}

fn as_json(
    name: &str,
    profiled: &Profiled,
    knees: &[(Curve, SweepResult)],
    notes: &[String],
) -> Result<serde_json::Value> {
    let value = || -> serde_json::Result<serde_json::Value> {
        let mut value = serde_json::to_value(profiled)?;
        value["schema"] = SCHEMA.into();
        value["trace"] = name.into();
        value["notes"] = serde_json::to_value(notes)?;
        for (index, (_, found)) in knees.iter().enumerate() {
            value["units"][index]["knee"] = serde_json::to_value(&found.shape)?;
        }
        Ok(value)
    };
    Ok(value().context("write the result as JSON")?)
}
