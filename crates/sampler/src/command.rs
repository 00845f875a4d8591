//! A command from its start to its end.

use std::io;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant, SystemTime};

use profile::SampledProfile;
use sys::perf_rings::{PerfRings, Recorded};
use sys::process::{signal_group, spawn_bound};

use crate::names::{Weight, named};
use crate::records::Records;
use crate::watched::Watched;

/// How often the records are taken, at least.
const ROUND: Duration = Duration::from_millis(20);
/// Memory of each CPU in pages, at first; less where a limit of locked memory forbids it.
const RING_PAGES: usize = 512;
const LEAST_RING_PAGES: usize = 8;
/// Call stacks of waits a second, at most, of a thread on a CPU.
const SWITCHES_HZ: u64 = 2000;
/// What of each stack is copied.
const STACK_BYTES: u32 = 16 << 10;

/// How a command is observed.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Samples a second of CPU time. A prime number does not beat with what is periodic.
    pub frequency_hz: u64,
}

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// The kernel refuses.
    #[error("{reason}: {next}")]
    Refused {
        /// What it says.
        reason: String,
        /// What to do about it.
        next: &'static str,
    },
    /// The command could not be started.
    #[error("start {program}: {source}")]
    Start {
        /// Its program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// Anything else.
    #[error("observe the command: {0}")]
    Io(#[from] io::Error),
}

/// Starts a command in a process group of its own, and observes it and all that it starts until it
/// ends. It dies with this process, and its group is killed when `stopped` is true. Fails where the
/// kernel does not permit it, and where the command cannot be started.
pub fn profile_command(
    command: &mut Command,
    options: &Options,
    stopped: &dyn Fn() -> bool,
) -> Result<(SampledProfile, ExitStatus), SamplerError> {
    let (mut rings, with_kernel) = rings(options)?;
    let mut records = Records::of(&rings.attribute_bytes())?;
    let mut watched = Watched::of(rings.switch_ids());
    let (begun, started) = (Instant::now(), SystemTime::now());
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child =
        spawn_bound(command).map_err(|source| SamplerError::Start { program, source })?;
    let status = loop {
        let ended = child.try_wait()?;
        rings.drain(|bytes| records.add(bytes));
        records.settle(ended.is_some(), |time_ns, record| watched.take(time_ns, record));
        if let Some(status) = ended {
            break status;
        }
        if stopped() {
            signal_group(child.id(), libc::SIGKILL)?;
        }
        rings.wait(ROUND);
    };
    let elapsed = begun.elapsed();
    watched.end();
    let weight = match with_kernel {
        true => Weight::All,
        false => Weight::Each(1_000_000_000 / options.frequency_hz.max(1)),
    };
    let mut profile = named(watched.stacks, &watched.ended, &weight);
    let since_1970 = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    profile.started_unix_ns = since_1970.as_nanos() as u64;
    profile.elapsed_ns = elapsed.as_nanos() as u64;
    (profile.samples, profile.truncated) = (watched.samples, watched.truncated);
    profile.lost = rings.lost();
    profile.records = records.count + profile.lost.unwrap_or(0);
    if !with_kernel {
        profile.missed.push(
            "the kernel's part and the call stacks of waits are not permitted to this user: \
             sysctl kernel.perf_event_paranoid=1 permits them"
                .to_owned(),
        );
    }
    Ok((profile, status))
}

/// The memory of the records, with the kernel's part if that is permitted.
fn rings(options: &Options) -> Result<(PerfRings, bool), SamplerError> {
    let cpus = online_cpus()?;
    let open = |with_kernel, ring_pages| {
        let frequency_hz = options.frequency_hz;
        let (stack_bytes, switches_hz) = (STACK_BYTES, SWITCHES_HZ);
        PerfRings::of_children(
            &Recorded { frequency_hz, switches_hz, stack_bytes, with_kernel, ring_pages },
            &cpus,
        )
    };
    let (mut with_kernel, mut pages) = (true, RING_PAGES);
    loop {
        let error = match open(with_kernel, pages) {
            Ok(rings) => return Ok((rings, with_kernel)),
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::EACCES) if with_kernel => with_kernel = false,
            Some(libc::EPERM) if pages > LEAST_RING_PAGES => pages /= 2,
            _ => return Err(refused(&error)),
        }
    }
}

fn refused(error: &io::Error) -> SamplerError {
    let next = match error.raw_os_error() {
        Some(libc::EACCES) => "sysctl kernel.perf_event_paranoid=2 permits programs of one's own",
        Some(libc::EPERM) => {
            "a container's seccomp filter or the limit of locked memory forbids it; run it outside \
             of the container, or with a larger ulimit -l"
        }
        Some(libc::EINVAL) => {
            "choose another rate: sysctl kernel.perf_event_max_sample_rate is the most"
        }
        _ => "this kernel has no perf_event_open (CONFIG_PERF_EVENTS)",
    };
    SamplerError::Refused { reason: format!("perf_event_open: {error}"), next }
}

/// The CPUs in use, as `/sys/devices/system/cpu/online` has them: `0-3,6`.
fn online_cpus() -> io::Result<Vec<u32>> {
    const PATH: &str = "/sys/devices/system/cpu/online";
    let text = std::fs::read_to_string(PATH)?;
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    let ranges: Option<Vec<_>> = text.trim().split(',').map(range).collect();
    let ranges = ranges.ok_or_else(|| io::Error::other(format!("{PATH}: {text:?}")))?;
    Ok(ranges.into_iter().flatten().collect())
}
