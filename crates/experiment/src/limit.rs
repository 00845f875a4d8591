//! The search for the limit at which work begins to pay: a sweep with a price, whose range is found.

use std::path::{Path, PathBuf};

use clap::Args;
use model::units::exact_size;
use subject::Machine;

use crate::error::{ExperimentError, Result};
use crate::sweep::{SearchArgs, Sweep, TypedSweep, parse_sweep};
use crate::typed::{self, Setting, part};

const MEMORY: &str = "sandbox.memory";
/// The lowest limits that a sandbox can have.
const LEAST_MEMORY: &str = "16M";
const LEAST_CPUS: &str = "0.05";
const LEAST_PROCESSES: &str = "8";
/// A number of processes that counts as no limit.
const AMPLE_PROCESSES: &str = "4096";
/// Extra costs are below this factor.
const MOST_PRICE: f64 = 100.0;

/// Which limit is searched, and what it may cost.
#[derive(Args, Clone, Debug)]
pub struct LimitArgs {
    /// The acceptable extra cost
    #[arg(long, value_name = "PERCENT", default_value = "5%",
        value_parser = |text: &str| part(text, MOST_PRICE))]
    pub price: f64,

    /// The parameter that is swept: any limit that a plan can set, such as sandbox.high,
    /// sandbox.cpus, sandbox.pids, swap
    #[arg(long, value_name = "PARAM", default_value = MEMORY)]
    over: String,

    /// The levels, such as 2G..16M: from no limit down to the lowest one that may be tried [default: from this machine's memory
    /// down to 16M; of CPUs to 0.05; of processes from 4096 to 8]
    #[arg(long, value_name = "FIRST..LAST")]
    range: Option<String>,

    /// The factor of the cost from which lower limits are not tried
    #[arg(long, value_name = "FACTOR", default_value = "10", value_parser = typed::factor)]
    most: f64,

    /// Width of the knee's interval at which the search ends
    #[arg(long, value_name = "PERCENT", default_value = "3%",
        value_parser = |text: &str| part(text, 1.0))]
    resolution: f64,

    /// Maximum number of measurements
    #[arg(long, value_name = "N", default_value_t = 20)]
    budget: usize,

    /// The cost of work: touch_ns, elapsed_ns, cpu_ns, faults, … [default: as in a sweep]
    #[arg(long, value_name = "RESPONSE")]
    response: Option<String>,
}

/// The search for a limit of the work that `base` describes, as a sweep. Fails when there is no
/// usual range, or something cannot be set.
pub fn limit(args: &LimitArgs, base: Vec<Setting>, output: Option<&Path>) -> Result<Sweep> {
    let machine = Machine::read().map_err(ExperimentError::NotMeasured)?;
    let LimitArgs { price, over, most, resolution, budget, response, .. } = args.clone();
    let is_elsewhere = is_elsewhere(&base);
    let range = match &args.range {
        Some(range) => range.clone(),
        None => usual_range(&over, &machine, is_elsewhere).map_err(ExperimentError::WrongUse)?,
    };
    let mut all = Vec::new();
    // A sandbox has little memory by default, which would be a second limit.
    if over.starts_with("sandbox.") && over != MEMORY && !is_elsewhere {
        all.push((MEMORY.to_owned(), ample_memory(&machine)));
    }
    all.extend(base);
    let search = SearchArgs {
        over: Some(over),
        range: Some(range),
        resolution: Some(resolution.into()),
        // The ends are all that is known to be tried; the search finds the rest.
        coarse: Some(2),
        budget: Some(budget),
        price: Some(price),
        most: Some(most),
        response,
        ..SearchArgs::default()
    };
    let plan = parse_sweep("", TypedSweep { base: all, search })?;
    Ok(Sweep::of_plan(plan, PathBuf::new(), output)?)
}

/// Whether the subject is another machine, whose size is not known here.
fn is_elsewhere(base: &[Setting]) -> bool {
    let subject = base.iter().rev().find(|(name, _)| name == "subject");
    subject.is_some_and(|(_, value)| !value.starts_with("sandbox") && !value.starts_with("host"))
}

/// The range of a limit if none is stated.
fn usual_range(over: &str, machine: &Machine, is_elsewhere: bool) -> Result<String, String> {
    let (first, last) = match over {
        _ if is_elsewhere => (None, ""),
        MEMORY | "sandbox.mem" | "sandbox.high" => (Some(ample_memory(machine)), LEAST_MEMORY),
        "sandbox.cpus" => (Some(machine.cpus.to_string()), LEAST_CPUS),
        "sandbox.pids" => (Some(AMPLE_PROCESSES.to_owned()), LEAST_PROCESSES),
        _ => (None, ""),
    };
    let first = first.ok_or_else(|| {
        format!(
            "{over} has no usual range here: state it, from no limit downwards: --range 4G..16M"
        )
    })?;
    Ok(format!("{first}..{last}"))
}

/// The largest power of two that this machine has: the same whatever else runs.
fn ample_memory(machine: &Machine) -> String {
    exact_size(1 << machine.memory_bytes.max(1).ilog2())
}
