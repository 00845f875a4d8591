//! The profile of a command or a process of this machine.

use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::Waiter;
use anyhow::Context;
use model::GroupName;
use profile::{Part, RunProfile, SampledProfile, sampled_firefox, sampled_schedule};
use report::{SampledView, sampled_document};
use sampler::{
    FaultKind, KnownFiles, Options, PerfRecording, SWITCHES_HZ, SampledFaults, SamplerError,
    profile_command, profile_processes, read_perf_data,
};
use subject::processes_of_group;

use super::{ProfileArgs, write};
use crate::output::show;
use crate::{Failure, OrWrong, Result};

/// Page faults whose code is shown, by name.
pub(super) const FAULTS: [(&str, &str, FaultKind); 2] = [
    ("minor", "First touches, copies, and pages that are in memory already", FaultKind::Minor),
    ("major", "Pages that are read from a device", FaultKind::Major),
];

/// Samples of page faults a second: they come in bursts.
const FAULTS_HZ: u64 = 4_999;

/// Observes a command or a process. A command's output goes to standard error, as the result has
/// standard output.
pub(super) fn profile(args: &ProfileArgs) -> Result<()> {
    if let Some(path) = &args.from {
        return of_perf(path, args);
    }
    let waiter = Waiter::new().context("catch signals")?;
    let stopped = || waiter.stop_requested();
    let faults = args.faults.map(|kind| SampledFaults { kind, frequency_hz: FAULTS_HZ });
    let switches_hz = (!args.no_waits).then_some(SWITCHES_HZ);
    let with_times = args.wants_times();
    let options = Options { frequency_hz: args.rate, switches_hz, faults, with_times };
    let not_measured = |error: SamplerError| Failure::NotMeasured(error.into());
    let (profile, name, failure) = match running(args)? {
        Some((pids, place)) => {
            let most = Duration::from_nanos(args.duration_ns);
            let (profile, name) =
                profile_processes(&pids, most, options, &stopped).map_err(not_measured)?;
            (profile, place.unwrap_or_else(|| format!("process {}, {name}", pids[0])), None)
        }
        None => {
            let mut command = command(&args.command)?;
            let mut files = KnownFiles::default();
            let (profile, status) = profile_command(&mut command, options, &mut files, &stopped)
                .map_err(not_measured)?;
            if stopped() {
                return Err(Failure::Interrupted);
            }
            let words = args.command.iter().map(String::as_str);
            let typed = shlex::try_join(words).unwrap_or_else(|_| args.command.join(" "));
            (profile, typed, (!status.success()).then(|| format!("ended with {status}")))
        }
    };
    let part = match faults {
        _ if args.waits => Part::Waits,
        Some(_) => Part::Faults,
        None => Part::OnCpu,
    };
    show_profile(&profile, part, args.rate, (&name, failure.as_deref()), args)
}

/// Shows a profile with the samples a second, of what was observed and how it failed, and writes the call
/// stacks of a part.
fn show_profile(
    profile: &SampledProfile,
    part: Part,
    frequency_hz: u64,
    (observed, failure): (&str, Option<&str>),
    args: &ProfileArgs,
) -> Result<()> {
    args.write_stacks(profile, profile.counts(part))?;
    let firefox = || sampled_firefox(profile, observed, frequency_hz);
    write(args.firefox.as_ref(), &firefox)?;
    write(args.schedule.as_ref(), &|| sampled_schedule(profile, observed))?;
    let most_functions = args.functions as usize;
    let view = SampledView { observed, failure, frequency_hz, profile, most_functions };
    show(&sampled_document(&view), &args.output)
}

/// Shows what `perf record` wrote.
fn of_perf(path: &Path, args: &ProfileArgs) -> Result<()> {
    let bytes = std::fs::read(path).or_wrong(format!("--from {}", path.display()))?;
    let PerfRecording { profile, command, frequency_hz } =
        read_perf_data(&bytes, args.wants_times())
            .or_wrong(format!("--from {}", path.display()))?;
    let has_time = profile.counts(Part::OnCpu).total > 0;
    let part = match () {
        () if args.waits => Part::Waits,
        () if has_time => Part::OnCpu,
        () => Part::Faults,
    };
    let observed = match command.is_empty() {
        true => path.display().to_string(),
        false => format!("{} ({command})", path.display()),
    };
    show_profile(&profile, part, frequency_hz, (&observed, None), args)
}

/// Shows the profile that is kept of a run (`run --profile -- COMMAND`).
pub(super) fn of_run(kept: &RunProfile, args: &ProfileArgs) -> Result<()> {
    if args.wants_times() {
        return Err(wrong!(
            "--firefox and --schedule need what each thread did when, which is not kept of a run: \
             thrashlab profile --firefox FILE -- COMMAND"
        ));
    }
    let RunProfile { run_id, frequency_hz, profile } = kept;
    let part = if args.waits { Part::Waits } else { Part::OnCpu };
    show_profile(profile, part, *frequency_hz, (run_id, None), args)
}

/// The running processes to observe, and the place where all of them are, if it was named.
fn running(args: &ProfileArgs) -> Result<Option<(Vec<u32>, Option<String>)>> {
    let unit = args.unit.clone().map(GroupName::Unit);
    let group = unit.or_else(|| args.cgroup.clone().map(GroupName::Path));
    match (args.pid, group) {
        (Some(pid), _) => Ok(Some((vec![pid], None))),
        (None, Some(group)) => {
            let pids = processes_of_group(&group).map_err(|why| wrong!("{why}"))?;
            let place = format!("{group}, {}", render::format::counted(pids.len(), "process"));
            Ok(Some((pids, Some(place))))
        }
        (None, None) => Ok(None),
    }
}

fn command(words: &[String]) -> Result<Command> {
    let [program, arguments @ ..] = words else {
        return Err(wrong!("no command: thrashlab profile -- COMMAND"));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdout(std::io::stderr());
    // Its group is not the terminal's, so it would be stopped where it reads.
    if std::io::stdin().is_terminal() {
        command.stdin(Stdio::null());
    }
    Ok(command)
}
