//! `touch`, the general form of memory work: processes × memory × order of touches.

use model::JobSpec;
use serde::Deserialize;

use super::{Layout, PAGE_BYTES, choice, number};
use crate::{Job, Kind, Param};

/// Largest address space of a process's places, in bytes.
const MOST_SPACE_BYTES: u64 = 1 << 46;
const SECOND_NS: u64 = 1_000_000_000;

/// Processes that touch memory of a kind, in an order, at a pace.
pub const TOUCH: Job = Job {
    name: "touch",
    version: 1,
    about: "processes that touch memory: private or shared, in order or at random, dense or sparse",
    params: &[
        Param::number("processes", Kind::Count, (1, 1, 4096)),
        Param::number("footprint", Kind::Size, (64 << 20, 4096, 1 << 44)),
        Param::number("step", Kind::Size, (4096, 8, 1 << 30)),
        Param::number("stride", Kind::Size, (64 << 10, 8, 1 << 40)),
        Param::number("spread", Kind::Size, (4096, 4096, 1 << 40)),
        Param::number("skew", Kind::Thousandths, (990, 0, 5000)),
        Param::number("work", Kind::Count, (0, 0, 1 << 50)),
        Param::number("time", Kind::Time, (SECOND_NS, 1_000_000, 86_400 * SECOND_NS)),
        Param::number("batch", Kind::Count, (0, 0, 1 << 40)),
        Param::number("think", Kind::Time, (0, 0, 3600 * SECOND_NS)),
        Param::number("limit", Kind::Time, (60 * SECOND_NS, 1_000_000, 86_400 * SECOND_NS)),
        Param::choice("backing", &["private", "shared", "file", "shm"]),
        Param::choice("pattern", &["sequential", "strided", "uniform", "zipf", "chase"]),
        Param::choice("pages", &["default", "small", "thp", "hugetlb"]),
        Param::choice("access", &["read", "write"]),
    ],
    measures: &["touches", "processes", "first_touches", "page_walks"],
};

/// The memory that is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// The page size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pages {
    /// The system's default.
    Default,
    /// 4 KiB.
    Small,
    /// Transparent huge pages.
    Thp,
    /// Reserved huge pages.
    Hugetlb,
}

/// The operation of a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Reading a byte, or a word of a chain.
    Read,
    /// Writing a byte, or a word of a chain.
    Write,
}

/// The parameters of `touch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchPlan {
    /// Number of processes.
    pub processes: u64,
    /// Size of the touched memory in bytes.
    pub footprint_bytes: u64,
    /// Bytes from one place to the next.
    pub step_bytes: u64,
    /// Distance of consecutive touches of a strided order, in places.
    pub stride: u64,
    /// Address space of each page, in bytes.
    pub spread_bytes: u64,
    /// Exponent of Zipf's law, in thousandths.
    pub skew_milli: u64,
    /// Touches of each process; 0 = as many as fit into `time_ns`.
    pub work: u64,
    /// How long the steady state is measured, in ns.
    pub time_ns: u64,
    /// Touches between two think times; 0 = the number of places.
    pub batch: u64,
    /// Think time in ns.
    pub think_ns: u64,
    /// Longest measurement in ns.
    pub limit_ns: u64,
    /// The memory that is touched.
    pub backing: Backing,
    /// Order of touches.
    pub pattern: Pattern,
    /// Page size.
    pub pages: Pages,
    /// The operation of a touch.
    pub access: Access,
}

impl TouchPlan {
    pub(super) fn new(job: &JobSpec) -> Result<Self, String> {
        let number = |name| number(job, name);
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
            backing: choice(job, "backing")?,
            pattern: choice(job, "pattern")?,
            pages: choice(job, "pages")?,
            access: choice(job, "access")?,
        };
        plan.check(number("stride")?).map(|()| plan)
    }

    fn check(&self, stride_bytes: u64) -> Result<(), String> {
        let refuse = |text: &str| Err(text.to_owned());
        if self.step_bytes > self.footprint_bytes {
            return refuse("step is larger than footprint: there is no location to touch");
        }
        if self.pattern == Pattern::Strided && !stride_bytes.is_multiple_of(self.step_bytes) {
            return refuse("stride is not a multiple of step: each touch must hit a location");
        }
        if self.pattern == Pattern::Chase && !self.step_bytes.is_multiple_of(8) {
            return refuse(
                "pattern=chase keeps a pointer at each location: step must be a multiple of 8",
            );
        }
        if !self.spread_bytes.is_multiple_of(PAGE_BYTES) {
            return refuse("spread is not a multiple of the page size, 4096");
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
    pub fn layout(&self, seed: u64) -> Layout {
        Layout::new(self.footprint_bytes, self.step_bytes, self.spread_bytes, seed)
    }

    /// Memory of all processes together, in bytes.
    pub fn touched_bytes(&self) -> u64 {
        match self.backing {
            Backing::Private => self.footprint_bytes.saturating_mul(self.processes),
            _ => self.footprint_bytes,
        }
    }

    /// Touches of each process before its steady state: each place once; none if the process
    /// prepared private memory itself, or has a fixed number of touches.
    pub fn first_touches(&self) -> u64 {
        let is_made = self.backing == Backing::Private;
        if is_made || self.work > 0 { 0 } else { self.layout(0).places() }
    }

    /// Whether the order is random, so that prefetching neighbours does not help.
    pub fn is_random(&self) -> bool {
        matches!(self.pattern, Pattern::Uniform | Pattern::Zipf | Pattern::Chase)
    }
}
