//! Commands from their start to their end, and running processes for a time.

use std::process::{Command, ExitStatus};
use std::time::Duration;

use profile::SampledProfile;
use sys::perf_rings::Observed;
use sys::process::{signal_group, spawn_bound};

use crate::recording::{Options, Recording, SamplerError};
use crate::running::RunningProcess;

/// Starts a command in a process group of its own, and observes it and all that it starts until it
/// ends. It dies with this process, and its group is killed when `stopped` is true. Fails where the
/// kernel does not permit it, and where the command cannot be started.
pub fn profile_command(
    command: &mut Command,
    options: Options,
    stopped: &dyn Fn() -> bool,
) -> Result<(SampledProfile, ExitStatus), SamplerError> {
    let mut recording = Recording::of(&Observed::Children, options)?;
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child =
        spawn_bound(command).map_err(|source| SamplerError::Start { program, source })?;
    let status = loop {
        recording.round(false);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if stopped() {
            signal_group(child.id(), libc::SIGKILL)?;
        }
    };
    Ok((recording.finish(), status))
}

/// Observes running processes and all that they start, for a time or until `stopped`; returns the name
/// of the first, too. It ends early when none of them is there any more. Fails where the kernel does not
/// permit it, and without such processes.
pub fn profile_processes(
    pids: &[u32],
    most: Duration,
    options: Options,
    stopped: &dyn Fn() -> bool,
) -> Result<(SampledProfile, String), SamplerError> {
    let read = |pid: &u32| {
        let failed = |source| SamplerError::Process { pid: *pid, source };
        RunningProcess::read(*pid).map_err(failed)
    };
    let processes: Vec<RunningProcess> = pids.iter().map(read).collect::<Result<_, _>>()?;
    let threads = processes.iter().flat_map(|process| &process.threads);
    let numbers = threads.clone().map(|(tid, ..)| tid.cast_unsigned()).collect();
    let mut recording = Recording::of(&Observed::Threads(numbers), options)?;
    processes.iter().for_each(|process| recording.add(process));
    let is_there = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    while recording.elapsed() < most && !stopped() && pids.iter().any(is_there) {
        recording.round(false);
    }
    let first = threads.map(|(_, name, _)| name.clone()).next();
    Ok((recording.finish(), first.unwrap_or_default()))
}
