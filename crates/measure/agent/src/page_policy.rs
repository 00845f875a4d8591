//! Whether the page size of a job is available.

use std::fs;

use jobs::{Backing, MemoryJob, Pages, TouchPlan};
use model::Unavailable;

/// The kernel's settings for transparent huge pages of anonymous and of shared memory.
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const SHARED_THP: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

/// Why the page size of a job is unavailable, if it is, and what to do.
pub(crate) fn unavailable(work: &MemoryJob) -> Option<Unavailable> {
    let MemoryJob::Touch(plan) = work else { return None };
    let (capability, reason) = match plan.pages {
        Pages::Default | Pages::Small => return None,
        Pages::Thp => ("transparent huge pages", thp_refused(plan)?),
        Pages::Hugetlb => ("hugetlb pages", hugetlb_refused(plan)?),
    };
    Some(Unavailable { capability: capability.to_owned(), reason })
}

fn thp_refused(plan: &TouchPlan) -> Option<String> {
    let path = if plan.backing == Backing::Private { THP } else { SHARED_THP };
    match fs::read_to_string(path) {
        Err(error) => Some(format!("{path}: {error}: this kernel does not support them")),
        Ok(text) if text.contains("[never]") || text.contains("[deny]") => {
            let choice = if plan.backing == Backing::Private { "madvise" } else { "advise" };
            Some(format!("{path} disables them: echo {choice} > {path}"))
        }
        Ok(_) => None,
    }
}

fn hugetlb_refused(plan: &TouchPlan) -> Option<String> {
    let Some(huge_bytes) = huge_bytes() else {
        return Some("/proc/meminfo: no Hugepagesize: this kernel has no huge pages".to_owned());
    };
    let copies = if plan.backing == Backing::Private { plan.processes } else { 1 };
    let needed = plan.footprint_bytes.div_ceil(huge_bytes.max(1)).saturating_mul(copies);
    let of = |name| meminfo(name).unwrap_or(0);
    let free = of("HugePages_Free").saturating_sub(of("HugePages_Rsvd"));
    (needed > free).then(|| {
        let more = of("HugePages_Total") + needed - free;
        format!("{needed} are needed and {free} are free: sysctl vm.nr_hugepages={more}")
    })
}

pub(crate) fn huge_bytes() -> Option<u64> {
    meminfo("Hugepagesize").map(|size_kb| size_kb << 10)
}

/// A value of `/proc/meminfo` in its own unit.
fn meminfo(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}
