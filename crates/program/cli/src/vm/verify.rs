//! `thrashlab vm verify`: whether equal inputs give equal bytes.

use std::io;
use std::time::{Duration, Instant};

use agent::Waiter;
use anyhow::{Context, anyhow};
use clap::Args;
use experiment::CellPlan;
use keep::{Cache, Scratch};
use model::units::format_duration;
use model::{EndStatus, Spec, SubjectSpec, VmSpec};
use render::{Block, Cell, Document, Table};
use serde_json::{Value, json};
use sys::process::{end, fork_child};
use vm::{Difference, Vm, first_difference};
use workloads::{loads_and_provocations, probes};

use super::{MachineArgs, VmContext, emulators, show_verdict, verified_run, verify_options};
use crate::guests;
use crate::output::OutputArgs;
use crate::timing::TimingArgs;
use crate::work::workload;
use crate::{Failure, Result, wrong};

/// A load that uses processor, memory and disk.
const VERIFIED_LOAD: &str = "2ctx-mem";

const EXAMPLES: &str = "\
The cell cache is not used. Exit codes: 0 identical (with --emulators: ends alike),
1 not.

Examples:
  thrashlab vm verify machine=micro
  thrashlab vm verify machine=micro --boots 2  without the cache, too
  thrashlab vm verify machine=micro,cpus=4 --boots 2 --runs-per-boot 10
  thrashlab vm verify machine=micro --emulators
                                               does it end alike in every QEMU?
  thrashlab vm verify kernel=deb:linux-image-cloud-amd64 --load largewrite \\
      --probe exec";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    machine: MachineArgs,

    /// The load in the background
    #[arg(long, value_name = "LOAD", default_value = VERIFIED_LOAD,
        value_parser = workload(loads_and_provocations()))]
    load: String,

    /// The interaction that is timed
    #[arg(long, value_name = "PROBE", default_value = "response", value_parser = workload(probes()))]
    probe: String,

    #[command(flatten)]
    timing: TimingArgs,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Number of boots to compare; with more than one, none comes from the cache
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    boots: u32,

    /// Number of runs from each boot, every second one on a busy host [default: three from the
    /// first boot, of them one on a busy host, and one from each other]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs_per_boot: Option<u32>,

    /// Run the cell once in every QEMU at hand (the engines, and with one virtual CPU the system's),
    /// and compare how it ends instead of the bytes
    #[arg(long, conflicts_with_all = ["boots", "runs_per_boot"])]
    emulators: bool,

    #[command(flatten)]
    output: OutputArgs,
}

struct VerifiedRun {
    boot: u32,
    is_host_busy: bool,
    wall: Duration,
    bytes: Vec<u8>,
}

pub(crate) fn verify(args: &VerifyArgs) -> Result<()> {
    let request = args.machine.request();
    if !request.machine.is_deterministic() {
        return Err(wrong!(
            "a machine with accel=kvm is not deterministic: its time is the host's; verify one \
             with accel=tcg"
        ));
    }
    if args.runs_per_boot == Some(1) && args.boots == 1 {
        return Err(wrong!(
            "one run has nothing to be compared with: --runs-per-boot 2 or --boots 2"
        ));
    }
    let profile = args.timing.profile().or(request.profile.as_deref());
    let settings = [("load", &args.load), ("probe", &args.probe)];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.clone()));
    let cell = CellPlan::typed(profile, args.timing.changes, &settings).map_err(wrong)?;
    let context = args.machine.prepare()?;
    let spec = cell.spec(SubjectSpec::Vm(Box::new(context.spec.clone())), args.seed, 0, 0);
    if args.emulators {
        return emulators::compare(&context, &spec, &args.output);
    }
    let mut made = Vec::new();
    for boot in 1..=args.boots {
        let hosts = match args.runs_per_boot {
            Some(count) => (0..count).map(|run| run % 2 == 1).collect(),
            None if boot == 1 => vec![false, false, true],
            None => vec![false],
        };
        runs_of_boot(&context, &spec, args.boots > 1, (boot, &hosts), &mut made)?;
    }
    let differences = differences(&made);
    let data = as_json(&context.spec, &made, &differences);
    let is_same = differences.iter().all(Option::is_none);
    show_verdict(&document(&made, &differences).with_data(data), &args.output, is_same)
}

/// The runs that continue from one boot, on a busy host or a quiet one.
fn runs_of_boot(
    VmContext { waiter, progress, spec: machine }: &VmContext,
    spec: &Spec,
    afresh: bool,
    (boot, hosts): (u32, &[bool]),
    made: &mut Vec<VerifiedRun>,
) -> Result<()> {
    let cache = Cache::of_user();
    // Removed when this boot is done with.
    let scratch = afresh
        .then(|| Scratch::make(&cache.root, "verify"))
        .transpose()
        .with_context(|| format!("create a folder in {}", cache.root.display()))?;
    let cache = match &scratch {
        // A shelf and a scratch folder each lock their own folder.
        Some(scratch) => Cache { snapshots: scratch.path().join("snapshots"), ..cache },
        None => cache,
    };
    let options = verify_options(cache, None);
    progress.say(&format!("{} with {}", machine.machine.name, machine.kernel));
    let vm = Vm::prepare(machine, &options, &|| waiter.stop_requested(), &mut |text| {
        progress.say(text);
    });
    let vm = vm.map_err(guests::failure)?;
    for is_host_busy in hosts.iter().copied() {
        let host = if is_host_busy { ", on a busy host" } else { "" };
        progress.say(&format!("run {}: {} from boot {boot}{host}", made.len() + 1, spec.load.name));
        let load = is_host_busy.then(HostLoad::start).transpose().context("make the host busy")?;
        let begun = Instant::now();
        let bytes = run(&vm, spec, waiter)?;
        made.push(VerifiedRun { boot, is_host_busy, wall: begun.elapsed(), bytes });
        drop(load);
    }
    Ok(())
}

fn run(vm: &Vm, spec: &Spec, waiter: &Waiter) -> Result<Vec<u8>> {
    let (outcome, bytes) = verified_run(vm, spec, waiter).map_err(guests::failure)?;
    match (outcome.status, outcome.death) {
        (EndStatus::Interrupted, _) => Err(Failure::Interrupted),
        (_, Some(why)) => Err(Failure::NotMeasured(anyhow!("the cell cannot be run: {why}"))),
        // A load that did not end in time is as good: its bytes must be the same, too.
        (_, None) => Ok(bytes),
    }
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn differences(made: &[VerifiedRun]) -> Vec<Option<Difference>> {
    made.iter().map(|run| first_difference(&made[0].bytes, &run.bytes)).collect()
}

fn first(differences: &[Option<Difference>]) -> Option<(usize, &Difference)> {
    differences.iter().enumerate().find_map(|(index, found)| Some((index, found.as_ref()?)))
}

fn document(made: &[VerifiedRun], differences: &[Option<Difference>]) -> Document<'static> {
    let heading = ["run", "boot", "host", "wall", "bytes", "as run 1"];
    let rows = made.iter().zip(differences).enumerate().map(|(index, (run, difference))| {
        [
            Cell::from(index + 1),
            run.boot.into(),
            if run.is_host_busy { "busy" } else { "quiet" }.into(),
            format_duration(run.wall.as_nanos() as u64).into(),
            run.bytes.len().into(),
            if difference.is_none() { "yes" } else { "NO" }.into(),
        ]
    });
    let table = Table::of("", heading, rows);
    let bytes = &made[0].bytes;
    let outcome = match first(differences) {
        None => format!("identical: {} bytes, BLAKE3 {}", bytes.len(), hash(bytes)),
        Some((index, difference)) => format!(
            "not identical: runs 1 and {} differ first in line {}, byte {}: {}\n  run 1: {}\n  run \
             {}: {}",
            index + 1,
            difference.line,
            difference.byte,
            difference.event,
            difference.around.0,
            index + 1,
            difference.around.1,
        ),
    };
    Document::of(vec![table.into(), Block::Verbatim(outcome)])
}

fn as_json(machine: &VmSpec, made: &[VerifiedRun], differences: &[Option<Difference>]) -> Value {
    let runs: Vec<Value> = made
        .iter()
        .zip(differences)
        .map(|(run, difference)| {
            json!({
                "boot": run.boot,
                "host_busy": run.is_host_busy,
                "wall_s": run.wall.as_secs_f64(),
                "bytes": run.bytes.len(),
                "blake3": hash(&run.bytes),
                "identical": difference.is_none(),
            })
        })
        .collect();
    let found = first(differences);
    let difference = found.map(|(index, difference)| {
        let mut shown = json!(difference);
        shown["runs"] = json!([1, index + 1]);
        shown
    });
    json!({
        "machine": machine,
        "identical": found.is_none(),
        "runs": runs,
        "difference": difference,
    })
}

/// A busy host: a spinning process per CPU, killed when dropped and when this process dies.
struct HostLoad(Vec<u32>);

impl HostLoad {
    /// Starts one a processor. Only a process with a single thread can.
    fn start() -> io::Result<Self> {
        let mut load = Self(Vec::new());
        for _ in 0..guests::cpus() {
            load.0.push(fork_child(|| {
                let mut number = 0_u64;
                loop {
                    number = std::hint::black_box(number.wrapping_add(1));
                }
            })?);
        }
        Ok(load)
    }
}

impl Drop for HostLoad {
    fn drop(&mut self) {
        let _ = end(self.0.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use render::plain_text;

    use super::*;

    fn made(text: &str) -> VerifiedRun {
        let wall = Duration::from_millis(1500);
        VerifiedRun { boot: 1, is_host_busy: false, wall, bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn the_first_difference_is_told() {
        let runs = [made("{\"a\":1}\n"), made("{\"a\":1}\n"), made("{\"a\":2}\n")];
        let differences = differences(&runs);
        let text = plain_text(&document(&runs, &differences));
        assert!(text.contains("runs 1 and 3 differ first in line 1, byte 5"), "{text}");
        assert!(text.contains("  run 3: {\"a\":2}\n"), "{text}");
        let text = plain_text(&document(&runs[..2], &differences[..2]));
        assert!(text.contains("identical: 8 bytes, BLAKE3 "), "{text}");
    }
}
