//! The search for the limit at which work begins to pay: a sweep with a price, whose range is found.

use std::path::Path;

use clap::Args;
use model::units::exact_size;
use subject::Machine;

use crate::error::{ExperimentError, Result};
use crate::job::{first_metric, times_command};
use crate::plan::CellPlan;
use crate::profile::TimingChanges;
use crate::subject_arg::{SubjectArg, is_here, is_live_group, split};
use crate::sweep::{SearchArgs, Sweep};
use crate::typed::{self, Setting, last, part, set_default};

const MEMORY: &str = "sandbox.memory";
const SANDBOX: &str = "sandbox.";
/// The kind of subject that is a machine of its own.
const GUEST: &str = "vm";
/// The names of a sandbox's memory.
const MEMORIES: [&str; 2] = [MEMORY, "sandbox.mem"];
/// Limits of a group that is there already: the one that only slows it down, and the one at which the kernel kills.
const LIVE_HIGH: &str = "subject.high";
const LIVE_MAX: &str = "subject.max";
/// Factors of the cost from which lower limits are not tried.
const USUAL_MOST: f64 = 10.0;
const LIVE_MOST: f64 = 2.0;
const JUST_ABOVE: f64 = 1.001;
/// The lowest limits that are tried of a sandbox.
const LEAST_MEMORY: &str = "16M";
/// In a guest the program of thrashlab itself is not in the sandbox.
const LEAST_MEMORY_OF_GUEST: &str = "4M";
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

    /// The levels, such as 2G..16M: from no limit down to the lowest one that may be tried [default: from the machine's memory
    /// down to 16M, in a guest to 4M; of CPUs to 0.05; of processes from 4096 to 8]
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
pub fn limit(args: &LimitArgs, mut base: Vec<Setting>, output: Option<&Path>) -> Result<Sweep> {
    let LimitArgs { price, resolution, budget, response, .. } = args.clone();
    let is_live = is_live_group(&base);
    if times_command(&base) {
        // A server is cold when it has been started, or its limit lowered.
        if is_live || last(&base, "command.service").is_some() {
            set_default(&mut base, "command.warmup", "1");
            set_default(&mut base, "command.runs", "3");
        }
        set_default(&mut base, "command.runs", "1");
    }
    let room = Room::of_subject(&base);
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
        None => usual_range(&over, room.clone(), args.floor.as_deref())
            .map_err(ExperimentError::WrongUse)?,
    };
    let response = response.or_else(|| first_metric(&base));
    // A sandbox has little memory by default, which would be a second limit.
    if over.starts_with(SANDBOX) && !MEMORIES.contains(&over.as_str()) && !names_memory(&base) {
        // If the subject is impossible, the plan says why.
        let memory = room.ok().flatten().map(|room| room.memory);
        base.extend(memory.map(|memory| (MEMORY.to_owned(), memory)));
    }
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
    Sweep::new(base, search, output)
}

/// Whether the memory of the sandbox is set, also as a setting of the subject.
fn names_memory(base: &[Setting]) -> bool {
    let settings = last(base, "subject").and_then(|text| split(text).ok());
    let of_subject = settings.is_some_and(|(_, kind, settings)| {
        let wanted = if kind == GUEST { "sandbox.mem" } else { "mem" };
        settings.iter().any(|(name, _)| name == wanted)
    });
    of_subject || base.iter().any(|(name, _)| MEMORIES.contains(&name.as_str()))
}

/// What a subject has when nothing limits it, and the least memory that is tried.
#[derive(Clone, Debug)]
struct Room {
    memory: String,
    /// More than there is: a live group keeps what it has.
    above_memory: String,
    least_memory: &'static str,
    cpus: u32,
}

impl Room {
    /// Room of this machine or of a guest; `None` = unknown. Fails when a setting of the guest is
    /// wrong, or the facts of this machine cannot be read.
    fn of_subject(base: &[Setting]) -> Result<Option<Self>, String> {
        match last(base, "subject") {
            Some(subject) if subject.split(':').next() == Some(GUEST) => Self::of_guest(base),
            Some(_) if !is_here(base) => Ok(None),
            _ => Machine::read().map(|machine| Some(Self::of_host(&machine))),
        }
    }

    fn of_host(machine: &Machine) -> Self {
        let bytes = machine.memory_bytes.max(1);
        Self {
            // The largest power of two that this machine has: the same whatever else runs.
            memory: exact_size(1 << bytes.ilog2()),
            above_memory: exact_size(bytes.next_power_of_two()),
            least_memory: LEAST_MEMORY,
            cpus: machine.cpus,
        }
    }

    fn of_guest(base: &[Setting]) -> Result<Option<Self>, String> {
        // Other limits of a sandbox need its memory, and this is not yet among the settings.
        let memory = (MEMORY.to_owned(), LEAST_MEMORY.to_owned());
        let settings: Vec<Setting> = std::iter::once(memory).chain(base.iter().cloned()).collect();
        let cell = CellPlan::typed(None, TimingChanges::default(), &settings)?;
        let Some(SubjectArg::Vm(request)) = cell.subject else { return Ok(None) };
        let memory = exact_size(request.machine.memory_bytes);
        Ok(Some(Self {
            above_memory: memory.clone(),
            memory,
            least_memory: LEAST_MEMORY_OF_GUEST,
            cpus: request.machine.cpu_count().into(),
        }))
    }
}

/// The range of a limit if none is stated.
fn usual_range(
    over: &str,
    room: Result<Option<Room>, String>,
    floor: Option<&str>,
) -> Result<String, String> {
    let (example, range) = match over {
        _ if MEMORIES.contains(&over) || over == "sandbox.high" => {
            ("4G..16M", room?.map(|room| (room.memory, room.least_memory)))
        }
        LIVE_HIGH | LIVE_MAX => {
            ("4G..16M", room?.map(|room| (room.above_memory, room.least_memory)))
        }
        "sandbox.cpus" => ("4..0.05", room?.map(|room| (room.cpus.to_string(), LEAST_CPUS))),
        "sandbox.pids" => ("4096..8", room?.map(|_| (AMPLE_PROCESSES.to_owned(), LEAST_PROCESSES))),
        _ => ("4G..16M", None),
    };
    let (first, last) = range.ok_or_else(|| {
        format!(
            "{over} has no usual range here: state it, from no limit downwards: --range {example}"
        )
    })?;
    Ok(format!("{first}..{}", floor.unwrap_or(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range_of(over: &str, base: &[(&str, &str)]) -> Result<String, String> {
        let base: Vec<Setting> =
            base.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        usual_range(over, Room::of_subject(&base), None)
    }

    #[test]
    fn a_guest_has_the_usual_ranges_of_its_machine() {
        let micro = ("subject", "vm:machine=micro,cpus=2");
        assert_eq!(range_of(MEMORY, &[micro]), Ok("48M..4M".to_owned()));
        assert_eq!(range_of("sandbox.high", &[micro]), Ok("48M..4M".to_owned()));
        assert_eq!(range_of(MEMORY, &[micro, ("memory", "64M")]), Ok("64M..4M".to_owned()));
        assert_eq!(range_of("sandbox.cpus", &[micro]), Ok("2..0.05".to_owned()));
        assert_eq!(range_of("sandbox.pids", &[micro]), Ok("4096..8".to_owned()));
        // A limit that needs the memory of the sandbox, which is not set yet.
        assert_eq!(range_of(MEMORY, &[micro, ("sandbox.cpus", "1")]), Ok("48M..4M".to_owned()));
        let why = range_of(MEMORY, &[("subject", "vm:machine=nano")]).unwrap_err();
        assert!(why.contains("no machine is named \"nano\""), "{why}");
        let why = range_of("sandbox.cpus", &[("subject", "ssh://box")]).unwrap_err();
        assert!(why.contains("--range 4..0.05"), "{why}");
    }

    #[test]
    fn memory_that_the_subject_names_is_kept() {
        let named = |subject: &str| names_memory(&[("subject".to_owned(), subject.to_owned())]);
        assert!(named("vm:machine=micro,sandbox.mem=32M") && named("sandbox:mem=1G"));
        assert!(
            !named("vm:machine=micro,mem=64M") && !named("sandbox") && !named("sandbox:cpus=1")
        );
        assert!(names_memory(&[("sandbox.memory".to_owned(), "1G".to_owned())]));
    }
}
