//! What is recorded, from the first record to the profile.

use std::fs;
use std::io;
use std::time::{Duration, Instant, SystemTime};

use profile::SampledProfile;
use sys::clock::monotonic_ns;
use sys::perf_rings::{FaultKind, Observed, PerfRings, Recorded, SampledFaults};

use crate::names::{Changed, KnownFiles, Weight, named};
use crate::records::Records;
use crate::running::RunningProcess;
use crate::watched::Watched;

/// How often the records are taken, at least.
const ROUND: Duration = Duration::from_millis(20);
/// Memory of each CPU in pages, at first; less where a limit of locked memory forbids it.
const RING_PAGES: usize = 2048;
const LEAST_RING_PAGES: usize = 8;
/// Call stacks of waits a second, at most, of a thread on a CPU, unless fewer suffice.
pub const SWITCHES_HZ: u64 = 10_000;
/// What of each stack is copied at least, and at most (`perf_copy_attr` in `kernel/events/core.c`).
const LEAST_STACK_BYTES: u64 = 16 << 10;
const MOST_STACK_BYTES: u64 = (1 << 16) - 8;

/// How a command is observed.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Samples a second of CPU time. A prime number does not beat with what is periodic.
    pub frequency_hz: u64,
    /// Call stacks of waits a second, at most, of a thread on a CPU: the durations of all waits are recorded.
    /// `None` records no waits, which costs less where threads wait often: the time of a thread on a CPU is
    /// then that of its samples.
    pub switches_hz: Option<u64>,
    /// Page faults whose code is recorded, too.
    pub faults: Option<SampledFaults>,
    /// Whether the profile has what each thread did when.
    pub with_times: bool,
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
    /// There is no process of this number.
    #[error("there is no process {0}: ps -e lists those that run")]
    NoProcess(u32),
    /// A process may not be read.
    #[error("process {pid}: {source}")]
    Process {
        /// Its number.
        pid: u32,
        /// Why.
        source: io::Error,
    },
    /// A thread ended before its recording began.
    #[error("the process has ended")]
    Ended,
    /// A file is not one of `perf record`, or not of time.
    #[error("read what perf recorded: {0}")]
    PerfData(String),
    /// Anything else.
    #[error("observe what executes: {0}")]
    Io(#[from] io::Error),
}

/// A recording that is under way.
pub(crate) struct Recording {
    rings: PerfRings,
    records: Records,
    watched: Watched,
    with_kernel: bool,
    options: Options,
    begun: Instant,
    started: SystemTime,
}

impl Recording {
    /// Begins. Fails where the kernel does not permit it.
    pub(crate) fn of(observed: &Observed, options: Options) -> Result<Self, SamplerError> {
        let (rings, with_kernel) = rings(observed, &options)?;
        let records = Records::of(&rings.attribute_bytes())?;
        let is_major = |it: SampledFaults| it.kind == FaultKind::Major;
        let names_touched = options.faults.is_some_and(is_major);
        let mut watched = Watched::of(rings.switch_ids(), rings.fault_ids(), names_touched);
        if options.with_times {
            watched.keep_times();
        }
        let (begun, started) = (Instant::now(), SystemTime::now());
        Ok(Self { rings, records, watched, with_kernel, options, begun, started })
    }

    /// Adds a process that was there before.
    pub(crate) fn add(&mut self, process: &RunningProcess) {
        self.watched.add(process, monotonic_ns());
    }

    /// How long it takes so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Takes what was recorded meanwhile; at the end, all. Else it waits a little first.
    pub(crate) fn round(&mut self, is_end: bool) {
        if !is_end {
            self.rings.wait(ROUND);
        }
        let Self { rings, records, watched, .. } = self;
        rings.drain(|bytes| records.add(bytes));
        records.settle(is_end, |time_ns, record| watched.take(time_ns, record));
        // Where the kernel does not say where threads wait, one can see those of one's own.
        let is_blind = !self.with_kernel && self.options.switches_hz.is_some();
        if is_blind && !is_end {
            self.watched.look();
        }
    }

    /// The profile of all of it. It ends before names are looked up, which takes a while.
    pub(crate) fn finish(self, files: &mut KnownFiles) -> Result<SampledProfile, SamplerError> {
        self.finish_without(&[], files)
    }

    /// The profile of all threads but those with these names.
    pub(crate) fn finish_without(
        mut self,
        but: &[&str],
        files: &mut KnownFiles,
    ) -> Result<SampledProfile, SamplerError> {
        let totals = self.rings.stop()?;
        let (elapsed, end_ns) = (self.elapsed(), monotonic_ns());
        self.round(true);
        let Self { records, mut watched, with_kernel, options, started, .. } = self;
        watched.end(end_ns);
        let sample_ns = 1_000_000_000 / options.frequency_hz.max(1);
        if options.switches_hz.is_none() {
            watched.without_switches(sample_ns);
        }
        watched.ended.retain(|thread| !but.contains(&&*thread.name));
        let weight = match with_kernel {
            true => Weight::All,
            false => Weight::Each(sample_ns),
        };
        let mut profile = named(watched.stacks, &watched.ended, &weight, Changed::default(), files);
        let since_1970 = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        profile.started_unix_ns = since_1970.as_nanos() as u64;
        profile.elapsed_ns = elapsed.as_nanos() as u64;
        (profile.samples, profile.truncated) = (watched.samples, watched.truncated);
        // The kernel's number is of all threads.
        let faults = if but.is_empty() { totals.faults } else { profile.fault_sum() };
        profile.faults = options.faults.and(faults);
        profile.lost = totals.lost;
        profile.records = records.count + profile.lost.unwrap_or(0);
        profile.is_outside_kernel = !with_kernel;
        if options.switches_hz.is_none() {
            profile.missed.push("waits, as requested: --no-waits".to_owned());
        }
        if !with_kernel {
            let looks = match options.switches_hz {
                Some(_) => "; the program's part of waits is that of 50 looks a second",
                None => "",
            };
            profile.missed.push(format!(
                "the kernel's part, with its page faults and where in it threads wait, is not \
                 permitted to this user: sysctl kernel.perf_event_paranoid=1 permits it{looks}"
            ));
        }
        Ok(profile)
    }
}

/// The memory of the records, with the kernel's part if that is permitted.
fn rings(observed: &Observed, options: &Options) -> Result<(PerfRings, bool), SamplerError> {
    let cpus = online_cpus()?;
    let open = |with_kernel, ring_pages| {
        let Options { frequency_hz, switches_hz, faults, .. } = *options;
        let stack_bytes = stack_bytes(ring_pages, frequency_hz);
        PerfRings::open(
            observed,
            &Recorded { frequency_hz, switches_hz, stack_bytes, with_kernel, faults, ring_pages },
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

/// As much of each stack as leaves room in a ring for the samples of 0.2 s: programs in Rust and C++ have
/// frames of many KiB.
fn stack_bytes(ring_pages: usize, frequency_hz: u64) -> u32 {
    let ring_bytes = (ring_pages * rustix::param::page_size()) as u64;
    let bytes = (5 * ring_bytes / frequency_hz.max(1)).clamp(LEAST_STACK_BYTES, MOST_STACK_BYTES);
    (bytes & !7) as u32
}

pub(crate) fn refused(error: &io::Error) -> SamplerError {
    let next = match error.raw_os_error() {
        Some(libc::EACCES) => {
            "programs of one's own are permitted by sysctl kernel.perf_event_paranoid=2, those of \
             others to root and with CAP_PERFMON"
        }
        Some(libc::ESRCH) => return SamplerError::Ended,
        Some(libc::EMFILE) => "it has many threads; raise `ulimit -n`",
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

/// The CPUs in use.
pub(crate) fn online_cpus() -> io::Result<Vec<u32>> {
    const PATH: &str = "/sys/devices/system/cpu/online";
    let text = fs::read_to_string(PATH)?;
    let wrong = || io::Error::other(format!("{PATH}: {text:?}"));
    let ranges = counters::parse::ranges(text.trim()).ok_or_else(wrong)?;
    ranges.into_iter().flatten().map(|cpu| u32::try_from(cpu).map_err(|_| wrong())).collect()
}
