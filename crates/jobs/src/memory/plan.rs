//! The specs of `vmtest` and `touch` as types, and what contradicts itself in them.

use model::JobSpec;
use model::units::format_size;

use super::{Layout, PAGE_BYTES};
use crate::{Desc, TOUCH, VMTEST};

/// Most processes of one job.
const MOST_PROCESSES: u64 = 1 << 16;
/// What the kernel keeps for a process beside its page tables, about, in bytes.
const PROCESS_BYTES: u64 = 64 << 10;
/// Address space that a process may have for its places, in bytes.
const MOST_SPACE_BYTES: u64 = 1 << 46;
/// Time that any memory may take to be made, in ns: it may be swapped out at once, to a slow disk.
const MAKING_NS: u64 = 300_000_000_000;
/// Memory that is made in a second at the least, in bytes.
const MADE_BYTES_PER_S: u64 = 16 << 20;

/// Irlam's program with its constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmtestPlan {
    /// The data segment of each process, in bytes.
    pub process_bytes: u64,
    /// How many processes there are.
    pub processes: u64,
    /// Bytes from one touched byte to the next.
    pub step_bytes: u64,
    /// How often each process steps through its segment; 0 = to be calibrated.
    pub loops: u64,
    /// Time between two looks of the parent, in ns.
    pub look_ns: u64,
    /// What a round is to take if it is calibrated, and the least that is measured, in ns.
    pub time_ns: u64,
    /// How many processes there are at the size for which `loops` is calibrated.
    pub calibrated_processes: u64,
    /// Longest time of all rounds, in ns.
    pub limit_ns: u64,
}

/// Memory that is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// Anonymous memory of each process.
    Private,
    /// Anonymous memory that all share.
    Shared,
    /// A mapped file that all share.
    File,
    /// A SysV segment that all share.
    Shm,
}

/// An order of touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One place after the other.
    Sequential,
    /// With a stride.
    Strided,
    /// Each place as likely as any other.
    Uniform,
    /// A few places popular.
    Zipf,
    /// A chain of pointers in the memory itself.
    Chase,
}

/// A page size policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// As the system has it.
    Default,
    /// 4 KiB.
    Small,
    /// Transparent huge pages.
    Thp,
    /// Huge pages that were set aside.
    Hugetlb,
}

/// What a touch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading a byte, or of a chain a word.
    Read,
    /// Writing it.
    Write,
}

/// The general form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchPlan {
    /// How many processes there are.
    pub processes: u64,
    /// Memory that is touched, in bytes.
    pub footprint_bytes: u64,
    /// Bytes from one place to the next.
    pub step_bytes: u64,
    /// Places from one touch to the next of a strided order.
    pub stride: u64,
    /// Address space of each page, in bytes.
    pub spread_bytes: u64,
    /// Exponent of the popularity of places, in thousandths.
    pub skew_milli: u64,
    /// Touches of each process; 0 = as many as the time allows.
    pub work: u64,
    /// How long the steady state is measured, in ns.
    pub time_ns: u64,
    /// Touches between two thoughts; 0 = as many as there are places.
    pub batch: u64,
    /// Length of a thought in ns.
    pub think_ns: u64,
    /// Longest time of all, in ns.
    pub limit_ns: u64,
    /// What the memory is.
    pub backing: Backing,
    /// Order of touches.
    pub pattern: Pattern,
    /// Page size policy.
    pub pages: Pages,
    /// What a touch is.
    pub access: Access,
}

/// A job that works on memory, as its spec asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryJob {
    /// Irlam's program.
    Vmtest(VmtestPlan),
    /// The general form.
    Touch(TouchPlan),
}

impl MemoryJob {
    /// Reads a spec; `None` if it is that of another job.
    ///
    /// # Errors
    /// What is missing or contradicts itself, with what to change.
    pub fn new(job: &JobSpec) -> Result<Option<Self>, String> {
        if job.name == VMTEST.name {
            VmtestPlan::new(job).map(|plan| Some(Self::Vmtest(plan)))
        } else if job.name == TOUCH.name {
            TouchPlan::new(job).map(|plan| Some(Self::Touch(plan)))
        } else {
            Ok(None)
        }
    }

    /// How many processes work.
    #[must_use]
    pub fn processes(&self) -> u64 {
        match self {
            Self::Vmtest(plan) => plan.processes,
            Self::Touch(plan) => plan.processes,
        }
    }

    /// How long the steady state is measured, in ns.
    #[must_use]
    pub fn time_ns(&self) -> u64 {
        match self {
            Self::Vmtest(plan) => plan.time_ns,
            Self::Touch(plan) => plan.time_ns,
        }
    }

    /// Longest time of measuring, in ns.
    #[must_use]
    pub fn limit_ns(&self) -> u64 {
        match self {
            Self::Vmtest(plan) => plan.limit_ns,
            Self::Touch(plan) => plan.limit_ns,
        }
    }

    /// Longest time in which the memory is made, in ns: a minute, and a second for each 16 MiB.
    #[must_use]
    pub fn making_ns(&self) -> u64 {
        let bytes = match self {
            Self::Vmtest(plan) => plan.process_bytes,
            Self::Touch(plan) => plan.touched_bytes(),
        };
        MAKING_NS.saturating_add((bytes / MADE_BYTES_PER_S).saturating_mul(1_000_000_000))
    }

    /// Physical memory that it needs, page tables included, in bytes; memory that was set aside
    /// for huge pages does not count.
    #[must_use]
    pub fn need_bytes(&self) -> u64 {
        match self {
            Self::Vmtest(plan) => {
                let process_bytes =
                    PROCESS_BYTES.saturating_add(table_bytes(plan.process_bytes, PAGE_BYTES));
                plan.processes.saturating_mul(process_bytes).saturating_add(plan.process_bytes)
            }
            Self::Touch(plan) => {
                if plan.pages == Pages::Hugetlb {
                    return plan.processes.saturating_mul(PROCESS_BYTES);
                }
                let tables_bytes = table_bytes(plan.footprint_bytes, plan.spread_bytes);
                let process_bytes = PROCESS_BYTES.saturating_add(tables_bytes);
                plan.processes.saturating_mul(process_bytes).saturating_add(plan.touched_bytes())
            }
        }
    }
}

/// Page tables of a mapping whose pages lie `spread_bytes` apart: on each level 8 bytes for what an
/// entry reaches, in whole tables, and no more of these than pages.
fn table_bytes(mapped_bytes: u64, spread_bytes: u64) -> u64 {
    let pages = mapped_bytes.div_ceil(PAGE_BYTES);
    let space_bytes = pages.saturating_mul(spread_bytes.max(PAGE_BYTES));
    let of_level = |level: u32| {
        let table_reaches_bytes = PAGE_BYTES << (9 * (level + 1));
        space_bytes.div_ceil(table_reaches_bytes).min(pages) * PAGE_BYTES
    };
    (0..3).map(of_level).sum()
}

impl VmtestPlan {
    fn new(job: &JobSpec) -> Result<Self, String> {
        let number = |name| number(job, name);
        let process_bytes = number("process_size")?;
        let step_bytes = number("step")?;
        let of_size = |name: &str, size_bytes: u64| {
            let processes = size_bytes / process_bytes.max(1);
            if processes == 0 || !size_bytes.is_multiple_of(process_bytes) {
                let (size, process) = (format_size(size_bytes), format_size(process_bytes));
                return Err(format!(
                    "{name}={size} is no multiple of process_size={process}: each process is one \
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
            // Two switches a look: to the parent and back.
            look_ns: 2 * 1_000_000_000 / number("switch_rate")?.max(1),
            time_ns: number("time")?,
            calibrated_processes,
            limit_ns: number("limit")?,
        })
    }

    /// Touches of a process that steps through its segment once.
    #[must_use]
    pub fn touches_a_loop(&self) -> u64 {
        self.process_bytes.div_ceil(self.step_bytes.max(1))
    }

    /// The loops with which a round takes about `time` when it is spread over `cpus_milli`
    /// thousandths of a CPU, if one process alone needs `loop_ns` for a loop; at least 1.
    #[must_use]
    pub fn calibrated_loops(&self, loop_ns: f64, cpus_milli: u64) -> u64 {
        // A process has one CPU at the most.
        let busy_milli = cpus_milli.min(self.calibrated_processes.saturating_mul(1000)).max(1);
        let cpu_ns = self.time_ns as f64 * busy_milli as f64 / 1000.0;
        let loops = cpu_ns / (self.calibrated_processes as f64 * loop_ns.max(0.1));
        (loops.round() as u64).max(1)
    }
}

impl TouchPlan {
    fn new(job: &JobSpec) -> Result<Self, String> {
        let number = |name| number(job, name);
        let choice = |name: &str| job.choices.get(name).map_or("", String::as_str);
        let plan = Self {
            processes: number("processes")?,
            footprint_bytes: number("footprint")?,
            step_bytes: number("step")?,
            stride: number("stride")?.checked_div(number("step")?).unwrap_or(0),
            spread_bytes: number("spread")?,
            skew_milli: number("skew")?,
            work: number("work")?,
            time_ns: number("time")?,
            batch: number("batch")?,
            think_ns: number("think")?,
            limit_ns: number("limit")?,
            backing: match choice("backing") {
                "private" => Backing::Private,
                "shared" => Backing::Shared,
                "file" => Backing::File,
                "shm" => Backing::Shm,
                other => return Err(format!("backing={other:?} is not known")),
            },
            pattern: match choice("pattern") {
                "sequential" => Pattern::Sequential,
                "strided" => Pattern::Strided,
                "uniform" => Pattern::Uniform,
                "zipf" => Pattern::Zipf,
                "chase" => Pattern::Chase,
                other => return Err(format!("pattern={other:?} is not known")),
            },
            pages: match choice("pages") {
                "default" => Pages::Default,
                "small" => Pages::Small,
                "thp" => Pages::Thp,
                "hugetlb" => Pages::Hugetlb,
                other => return Err(format!("pages={other:?} is not known")),
            },
            access: match choice("access") {
                "read" => Access::Read,
                "write" => Access::Write,
                other => return Err(format!("access={other:?} is not known")),
            },
        };
        plan.check(number("stride")?).map(|()| plan)
    }

    /// What contradicts itself.
    fn check(&self, stride_bytes: u64) -> Result<(), String> {
        let refuse = |text: &str| Err(text.to_owned());
        if self.step_bytes > self.footprint_bytes {
            return refuse("step is larger than footprint: there is no place to touch");
        }
        if self.pattern == Pattern::Strided && !stride_bytes.is_multiple_of(self.step_bytes) {
            return refuse("stride is no multiple of step: take one, so that touches meet places");
        }
        if self.pattern == Pattern::Chase && !self.step_bytes.is_multiple_of(8) {
            return refuse("pattern=chase keeps a pointer at each place: step is a multiple of 8");
        }
        if !self.spread_bytes.is_multiple_of(PAGE_BYTES) {
            return refuse("spread is no multiple of 4096, the size of a page");
        }
        let huge = matches!(self.pages, Pages::Thp | Pages::Hugetlb);
        if huge && self.spread_bytes > PAGE_BYTES {
            return refuse("spread is for small pages: huge pages would fill what it leaves out");
        }
        if huge && self.backing == Backing::File {
            return refuse("backing=file has small pages: leave pages=default, or take another");
        }
        let space_bytes =
            self.footprint_bytes.div_ceil(PAGE_BYTES) as u128 * u128::from(self.spread_bytes);
        if space_bytes > u128::from(MOST_SPACE_BYTES) {
            return refuse("footprint × spread is more than 64T of address space: take less");
        }
        Ok(())
    }

    /// Where the places of this footprint lie; `seed` is that of the run.
    #[must_use]
    pub fn layout(&self, seed: u64) -> Layout {
        Layout::new(self.footprint_bytes, self.step_bytes, self.spread_bytes, seed)
    }

    /// Memory of all processes together, in bytes.
    #[must_use]
    pub fn touched_bytes(&self) -> u64 {
        match self.backing {
            Backing::Private => self.footprint_bytes.saturating_mul(self.processes),
            _ => self.footprint_bytes,
        }
    }

    /// Touches of each process before it is in the state that is to be measured: each place once,
    /// so that no page is missing because it was never used. A process has made private memory
    /// itself; and of work that is to be done every touch counts.
    #[must_use]
    pub fn first_touches(&self) -> u64 {
        let is_made = self.backing == Backing::Private;
        if is_made || self.work > 0 { 0 } else { self.layout(0).places() }
    }

    /// Whether touches come at random, so that what lies beside a place is of no use.
    #[must_use]
    pub fn is_random(&self) -> bool {
        matches!(self.pattern, Pattern::Uniform | Pattern::Zipf | Pattern::Chase)
    }
}

fn number(job: &JobSpec, name: &str) -> Result<u64, String> {
    job.params.get(name).copied().ok_or_else(|| format!("{} needs a {name}", job.name))
}

impl Desc {
    /// Whether parameters and choices go together.
    ///
    /// # Errors
    /// What contradicts itself, with what to change.
    pub fn check(&self, job: &JobSpec) -> Result<(), String> {
        MemoryJob::new(job).map(|_| ())
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
