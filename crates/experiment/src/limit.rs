//! The search for the limit at which work begins to pay: a sweep with a price, whose range is found.

use std::path::{Path, PathBuf};

use clap::Args;
use model::units::exact_size;
use subject::Machine;

use crate::error::{ExperimentError, Result};
use crate::job::first_metric;
use crate::subject_arg::{is_here, is_live_group};
use crate::sweep::{SearchArgs, Sweep, TypedSweep, parse_sweep};
use crate::typed::{self, Setting, part};

const MEMORY: &str = "sandbox.memory";
/// Limits of a group that is there already: the one that only slows it down, and the one at which the kernel kills.
const LIVE_HIGH: &str = "subject.high";
const LIVE_MAX: &str = "subject.max";
/// Factors of the cost from which lower limits are not tried.
const USUAL_MOST: f64 = 10.0;
const LIVE_MOST: f64 = 2.0;
const JUST_ABOVE: f64 = 1.001;
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
    /// sandbox.cpus, sandbox.pids, swap [default: sandbox.memory; of an existing group subject.high]
    #[arg(long, value_name = "PARAM")]
    over: Option<String>,

    /// The levels, such as 2G..16M: from no limit down to the lowest one that may be tried [default: from this machine's memory
    /// down to 16M; of CPUs to 0.05; of processes from 4096 to 8]
    #[arg(long, value_name = "FIRST..LAST")]
    range: Option<String>,

    /// The lowest limit that may be tried; has to be stated for a group that is there already
    #[arg(long, value_name = "LIMIT", conflicts_with = "range")]
    floor: Option<String>,

    /// The factor of the cost from which lower limits are not tried [default: 10; of a group that is
    /// there already 2, or for its subject.max the price]
    #[arg(long, value_name = "FACTOR", value_parser = typed::factor)]
    most: Option<f64>,

    /// Width of the knee's interval at which the search ends
    #[arg(long, value_name = "PERCENT", default_value = "5%",
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
    let LimitArgs { price, resolution, budget, response, .. } = args.clone();
    let is_elsewhere = subject_of(&base).is_some_and(|subject| !is_here(subject));
    let is_live = names_live_group(&base);
    let usual = if is_live { LIVE_HIGH } else { MEMORY };
    let over = args.over.clone().unwrap_or_else(|| usual.to_owned());
    let most = args.most.unwrap_or(match over.as_str() {
        // Below the price the kernel may kill a service that is in use.
        LIVE_MAX => 1.0 + price * JUST_ABOVE,
        _ if is_live => LIVE_MOST,
        _ => USUAL_MOST,
    });
    if is_live && args.floor.is_none() && args.range.is_none() {
        return Err(ExperimentError::WrongUse(
            "state the lowest limit that this group may get: --floor 256M".to_owned(),
        ));
    }
    let range = match &args.range {
        Some(range) => range.clone(),
        None => usual_range(&over, &machine, is_elsewhere, args.floor.as_deref())
            .map_err(ExperimentError::WrongUse)?,
    };
    let response = response.or_else(|| first_metric(&base));
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

fn subject_of(base: &[Setting]) -> Option<&str> {
    let subject = base.iter().rev().find(|(name, _)| name == "subject");
    subject.map(|(_, value)| value.as_str())
}

/// Whether the subject is a control group that is there already, here or on another machine.
pub fn names_live_group(base: &[Setting]) -> bool {
    subject_of(base).is_some_and(is_live_group)
}

/// The range of a limit if none is stated.
fn usual_range(
    over: &str,
    machine: &Machine,
    is_elsewhere: bool,
    floor: Option<&str>,
) -> Result<String, String> {
    let (first, last) = match over {
        _ if is_elsewhere => (None, ""),
        MEMORY | "sandbox.mem" | "sandbox.high" => (Some(ample_memory(machine)), LEAST_MEMORY),
        // More than there is: a live group keeps what it has.
        LIVE_HIGH | LIVE_MAX => {
            (Some(exact_size(machine.memory_bytes.next_power_of_two())), LEAST_MEMORY)
        }
        "sandbox.cpus" => (Some(machine.cpus.to_string()), LEAST_CPUS),
        "sandbox.pids" => (Some(AMPLE_PROCESSES.to_owned()), LEAST_PROCESSES),
        _ => (None, ""),
    };
    let first = first.ok_or_else(|| {
        format!(
            "{over} has no usual range here: state it, from no limit downwards: --range 4G..16M"
        )
    })?;
    Ok(format!("{first}..{}", floor.unwrap_or(last)))
}

/// The largest power of two that this machine has: the same whatever else runs.
fn ample_memory(machine: &Machine) -> String {
    exact_size(1 << machine.memory_bytes.max(1).ilog2())
}
