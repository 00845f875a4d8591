//! Guests as the commands need them: the kernel that is meant, the options, the boot.

use std::time::Duration;

use agent::Waiter;
use anyhow::Context;
use clap::Args;
use experiment::subject_arg;
use keep::Cache;
use kernels::{KernelArg, KernelError};
use model::VmSpec;
use model::units::parse_duration_ns;
use vm::{Vm, VmError, VmOptions, VmRequest};

use crate::Failure;
use crate::progress::Progress;

/// How guests are run.
#[derive(Args)]
pub(crate) struct GuestArgs {
    /// With vm: run every cell again and keep none
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// With vm and mmu: guests or simulations at a time, on all nodes of a fleet together [default:
    /// one a CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// With vm: a guest that writes nothing for this long, on the wall clock, is taken for stuck
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_duration_ns)]
    pub(crate) wall_limit: u64,
}

/// A guest that writes nothing for this long is taken for stuck, if nothing else is said.
pub(crate) const SILENCE: Duration = Duration::from_secs(900);

/// What was asked for, with a kernel.
pub(crate) fn spec(request: &VmRequest, progress: &Progress) -> Result<VmSpec, Failure> {
    let (spec, note) = subject_arg::vm_spec(request);
    if let Some(note) = note {
        progress.say(&note);
    }
    // An error of the name is wrong use; everything else about a kernel is found out later.
    spec.kernel.parse::<KernelArg>().context("vm:kernel").map_err(Failure::WrongUse)?;
    Ok(spec)
}

/// The options of all guests.
pub(crate) fn options(args: &GuestArgs) -> VmOptions {
    VmOptions {
        cache: Cache::of_user(),
        reuse_cells: !args.no_cache,
        silence: Duration::from_nanos(args.wall_limit),
        freeze: None,
    }
}

/// CPUs that this process may use.
pub(crate) fn cpus() -> usize {
    sys::process::usable_cpus() as usize
}

/// Boots the machine, or takes it from the cache.
pub(crate) fn prepare(
    spec: &VmSpec,
    options: &VmOptions,
    waiter: &Waiter,
    progress: &Progress,
) -> Result<Vm, Failure> {
    progress.say(&format!("{} with {}", spec.machine.name, spec.kernel));
    Vm::prepare(spec, options, &|| waiter.stop_requested()).map_err(failure)
}

/// An error of a machine as the failure of a command.
pub(crate) fn failure(error: VmError) -> Failure {
    match error {
        VmError::Interrupted => Failure::Interrupted,
        VmError::KernelName(_) => Failure::WrongUse(anyhow::Error::new(error).context("vm:kernel")),
        VmError::Kernel(ref why) if names_nothing(why) => {
            Failure::WrongUse(anyhow::Error::new(error).context("vm:kernel"))
        }
        _ => Failure::NotMeasured(anyhow::Error::new(error).context("prepare the machine")),
    }
}

/// What went wrong after the user wanted to stop was no failure: programs that were waited for
/// heard of it too.
pub(crate) fn stopped_or(waiter: &Waiter, failure: Failure) -> Failure {
    if waiter.stop_requested() { Failure::Interrupted } else { failure }
}

/// Whether there is no kernel where the user says that one is.
fn names_nothing(error: &KernelError) -> bool {
    match error {
        KernelError::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
        KernelError::NoKernel(_) => true,
        KernelError::Unavailable(_) => false,
    }
}
