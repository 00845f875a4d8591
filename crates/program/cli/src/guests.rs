//! Guests as the commands need them: how many there may be, and what goes wrong with them.

use std::time::Duration;

use agent::Waiter;
use kernels::KernelError;
use model::Line;
use subject::Sink;
use vm::VmError;

use crate::Failure;

/// A guest that writes nothing for this long counts as stuck, where the user cannot choose it.
pub(crate) const SILENCE: Duration = Duration::from_secs(900);

/// What makes a run, and the bytes of the run. Fails as what makes it.
pub(crate) fn with_bytes<T>(
    make: impl FnOnce(&mut Sink<'_>) -> Result<T, VmError>,
) -> Result<(T, Vec<u8>), VmError> {
    let mut bytes = Vec::new();
    let made = make(&mut |part: &[u8], _: Option<&Line>| {
        bytes.extend_from_slice(part);
        Ok(())
    })?;
    Ok((made, bytes))
}

pub(crate) fn cpus() -> usize {
    sys::process::usable_cpus() as usize
}

pub(crate) fn failure(error: VmError) -> Failure {
    match error {
        VmError::Interrupted => Failure::Interrupted,
        VmError::KernelName(_) => Failure::WrongUse(anyhow::Error::new(error).context("vm:kernel")),
        VmError::RootName(_) => Failure::WrongUse(anyhow::Error::new(error).context("vm:root")),
        VmError::Kernel(ref why) if names_nothing(why) => {
            Failure::WrongUse(anyhow::Error::new(error).context("vm:kernel"))
        }
        _ => Failure::NotMeasured(anyhow::Error::new(error).context("prepare the machine")),
    }
}

/// An error after Ctrl-C is not a failure: child processes got the signal too.
pub(crate) fn stopped_or(waiter: &Waiter, failure: Failure) -> Failure {
    if waiter.stop_requested() { Failure::Interrupted } else { failure }
}

/// Whether there is no kernel under the user's name for it.
fn names_nothing(error: &KernelError) -> bool {
    match error {
        KernelError::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
        KernelError::NoKernel(_) => true,
        KernelError::Unavailable(_) => false,
    }
}
