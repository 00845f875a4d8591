//! Guests as the commands need them: the kernel that is meant, the options, the boot.

use std::time::Duration;

use agent::Waiter;
use experiment::subject_arg;
use kernels::{KernelArg, KernelError};
use model::VmSpec;
use vm::{Vm, VmError, VmOptions, VmRequest};

use crate::progress::Progress;
use crate::{Failure, OrWrong};

/// A guest that writes nothing for this long is taken for stuck, if nothing else is said.
pub(crate) const SILENCE: Duration = Duration::from_secs(900);

/// What was asked for, with a kernel.
pub(crate) fn spec(request: &VmRequest, progress: &Progress) -> Result<VmSpec, Failure> {
    let (spec, note) = subject_arg::vm_spec(request);
    if let Some(note) = note {
        progress.say(&note);
    }
    // An error of the name is wrong use; everything else about a kernel is found out later.
    spec.kernel.parse::<KernelArg>().map_err(anyhow::Error::msg).or_wrong("vm:kernel")?;
    Ok(spec)
}

pub(crate) fn cpus() -> usize {
    sys::process::usable_cpus() as usize
}

pub(crate) fn prepare(
    spec: &VmSpec,
    options: &VmOptions,
    waiter: &Waiter,
    progress: &Progress,
) -> Result<Vm, Failure> {
    progress.say(&format!("{} with {}", spec.machine.name, spec.kernel));
    Vm::prepare(spec, options, &|| waiter.stop_requested()).map_err(failure)
}

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
