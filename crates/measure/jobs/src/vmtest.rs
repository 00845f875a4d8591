//! `vmtest`, Irlam's program: processes that step through shared pages.

use model::JobSpec;
use model::units::format_size;

use super::number;
use crate::{Job, Kind, Param};

const MOST_PROCESSES: u64 = 1 << 16;
const SECOND_NS: u64 = 1_000_000_000;

/// A parent touches its data segment and forks a child for each `process_size` of `size`, which
/// steps through the segment `loops` times; the parent's periodic checks cause context switches
/// (Gordon Irlam, "A Guide to Sun-4 Virtual Memory Performance", 1990, section 6).
pub const VMTEST: Job = Job {
    name: "vmtest",
    version: 1,
    about: "processes that step through shared pages, each a small part of the virtual memory",
    params: &[
        Param::number("size", Kind::Size, (16 << 20, 4096, 1 << 40)),
        Param::number("process_size", Kind::Size, (2 << 20, 4096, 1 << 36)),
        Param::number("step", Kind::Size, (4096, 1, 1 << 30)),
        Param::number("loops", Kind::Count, (0, 0, 1 << 40)),
        Param::number("switch_rate", Kind::Count, (50, 1, 100_000)),
        Param::number("time", Kind::Time, (SECOND_NS / 2, 1_000_000, 3600 * SECOND_NS)),
        Param::number("of_size", Kind::Size, (0, 0, 1 << 40)),
        Param::number("limit", Kind::Time, (60 * SECOND_NS, 1_000_000, 86_400 * SECOND_NS)),
    ],
    measures: &["touches", "processes", "loops", "page_walks"],
};

/// The parameters of Irlam's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmtestPlan {
    /// The data segment of each process, in bytes.
    pub process_bytes: u64,
    /// Number of processes.
    pub processes: u64,
    /// Bytes from one touched byte to the next.
    pub step_bytes: u64,
    /// Steps of each process through its segment; 0 = to be calibrated.
    pub loops: u64,
    /// Time between two checks of the parent, in ns.
    pub look_ns: u64,
    /// Time of a calibrated round, and the least that is measured, in ns.
    pub time_ns: u64,
    /// Number of processes for which `loops` is calibrated.
    pub calibrated_processes: u64,
    /// Longest time of all rounds, in ns.
    pub limit_ns: u64,
}

impl VmtestPlan {
    pub(super) fn new(job: &JobSpec) -> Result<Self, String> {
        let number = |name| number(job, name);
        let process_bytes = number("process_size")?;
        let step_bytes = number("step")?;
        let of_size = |name: &str, size_bytes: u64| {
            let processes = size_bytes / process_bytes.max(1);
            if processes == 0 || !size_bytes.is_multiple_of(process_bytes) {
                let (size, process) = (format_size(size_bytes), format_size(process_bytes));
                return Err(format!(
                    "{name}={size} is not a multiple of process_size={process}: each process takes \
                     process_size of it; take {} or another process_size",
                    format_size(processes.max(1) * process_bytes)
                ));
            }
            if processes > MOST_PROCESSES {
                return Err(format!(
                    "{name} would be {processes} processes and at most {MOST_PROCESSES} are \
                     possible: take a larger process_size"
                ));
            }
            Ok(processes)
        };
        if step_bytes > process_bytes {
            return Err("step is larger than process_size: nothing would be stepped on".to_owned());
        }
        let processes = of_size("size", number("size")?)?;
        let calibrated_processes = match number("of_size")? {
            0 => processes,
            size_bytes => of_size("of_size", size_bytes)?,
        };
        Ok(Self {
            process_bytes,
            processes,
            step_bytes,
            loops: number("loops")?,
            // Two switches a check: to the parent and back.
            look_ns: 2 * 1_000_000_000 / number("switch_rate")?.max(1),
            time_ns: number("time")?,
            calibrated_processes,
            limit_ns: number("limit")?,
        })
    }

    /// Touches of one pass through the segment.
    pub fn touches_a_loop(&self) -> u64 {
        self.process_bytes.div_ceil(self.step_bytes.max(1))
    }

    /// Loops for a round of about `time` on `cpus_milli` if one process needs `loop_ns` a loop.
    pub fn calibrated_loops(&self, loop_ns: f64, cpus_milli: u64) -> u64 {
        // A process has one CPU at the most.
        let busy_milli = cpus_milli.min(self.calibrated_processes.saturating_mul(1000)).max(1);
        let cpu_ns = self.time_ns as f64 * busy_milli as f64 / 1000.0;
        let loops = cpu_ns / (self.calibrated_processes as f64 * loop_ns.max(0.1));
        (loops.round() as u64).max(1)
    }
}
