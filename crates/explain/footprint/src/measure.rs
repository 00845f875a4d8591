//! Measures processes.

use std::collections::BTreeSet;

use counters::parse::TaskStatus;
use serde::Serialize;

use crate::count::Counts;
use crate::geometry::Geometry;
use crate::idle::IdlePages;
use crate::kind::kinds;
use crate::pages::{ReadMapping, each_page};
use crate::process::{Options, ProcessFootprint, Tables};
use crate::saving::Saving;
use crate::sharing::{SharedTables, Sharing};
use crate::system::System;

/// How active pages were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ActivitySource {
    /// Nothing was cleared: only present pages are known.
    NotLookedFor,
    /// Counted by the kernel per mapping (`Referenced` in `smaps`), without their places.
    Counted {
        /// Why their places are not known.
        no_places: String,
    },
    /// Counted, with places narrowed down by the idle page bitmap, which covers all processes.
    Placed,
}

/// A process about which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its number.
    pub pid: u32,
    /// Why.
    pub reason: String,
}

/// The figures of all processes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Pages and regions; absent if there is no process.
    pub counts: Option<Counts>,
    /// Pages of page tables.
    pub tables: Tables,
    /// What every process for itself could do with less.
    pub saving: Saving,
    /// What the processes could share.
    pub sharing: SharedTables,
}

/// What processes map, touch and share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Footprint {
    /// The layout of page tables here.
    pub geometry: Geometry,
    /// How active pages were found.
    pub activity: ActivitySource,
    /// TLBs were flushed; else pages whose translation stayed in a TLB do not appear active.
    pub is_flushed: bool,
    /// The processes, in the order of the request.
    pub processes: Vec<ProcessFootprint>,
    /// Requested processes about which nothing is known.
    pub left_out: Vec<LeftOut>,
    /// All processes together.
    pub total: Totals,
}

/// Measures processes; the window is the duration of `wait`, which runs only if bits were cleared.
pub fn measure(system: &System, pids: &[u32], options: Options, wait: impl FnOnce()) -> Footprint {
    let mut left_out = Vec::new();
    let mut watched = Vec::new();
    for pid in pids {
        match begin(system, *pid, options.clear) {
            Ok(start_ticks) => watched.push((*pid, start_ticks)),
            Err(reason) => left_out.push(LeftOut { pid: *pid, reason }),
        }
    }
    let mut activity = ActivitySource::NotLookedFor;
    let mut untouched = IdlePages::default();
    if options.clear && !watched.is_empty() {
        let marked = mark_idle(system, &watched);
        wait();
        activity = match marked.and_then(|marked| marked.still_idle(&system.page_idle)) {
            Ok(still_idle) => {
                untouched = still_idle;
                ActivitySource::Placed
            }
            Err(no_places) => ActivitySource::Counted { no_places },
        };
    }
    let mut sharing = Sharing::default();
    let mut processes = Vec::new();
    for (pid, start_ticks) in watched {
        match read(system, pid, start_ticks, &untouched) {
            Ok((status, mappings)) => {
                sharing.add(&mappings, &system.geometry);
                let geometry = &system.geometry;
                processes.push(ProcessFootprint::new(pid, status, &mappings, geometry, options));
            }
            Err(reason) => left_out.push(LeftOut { pid, reason }),
        }
    }
    let (shared, repeated) = sharing.finish();
    for (process, repeated) in processes.iter_mut().zip(repeated) {
        process.tables.repeated = repeated;
    }
    left_out.sort_by_key(|it| it.pid);
    let total = Totals {
        counts: processes.iter().map(|it| it.counts).reduce(|one, two| one + two),
        tables: processes.iter().fold(Tables::default(), |sum, it| sum + it.tables),
        saving: processes.iter().fold(Saving::default(), |sum, it| sum + it.saving),
        sharing: shared,
    };
    let is_flushed = options.clear && system.can_flush;
    Footprint { geometry: system.geometry, activity, is_flushed, processes, left_out, total }
}

/// Checks that a process can be measured, and clears its referenced bits; returns its start time.
fn begin(system: &System, pid: u32, clear: bool) -> Result<u64, String> {
    let status = system.status(pid)?;
    if matches!(status.state.as_str(), "Z" | "X") {
        return Err("it has ended and has not been reaped yet".to_owned());
    }
    if status.vm_pte_kb.is_none() {
        return Err("a kernel thread, without memory of its own".to_owned());
    }
    // Who may not read it must not clear its bits.
    system.pagemap(pid)?;
    let start_ticks = system.start_ticks(pid)?;
    if clear {
        system.clear(pid)?;
    }
    Ok(start_ticks)
}

/// Marks all pages of processes as idle. The error is the reason.
fn mark_idle(system: &System, watched: &[(u32, u64)]) -> Result<IdlePages, String> {
    let path = system.page_idle.display();
    if !system.page_idle.exists() {
        return Err(format!("{path} does not exist: this kernel has no CONFIG_IDLE_PAGE_TRACKING"));
    }
    let mut numbers = BTreeSet::new();
    for (pid, _) in watched {
        // An ended process is reported when it is read.
        let (Ok(mappings), Ok(pagemap)) = (system.smaps(*pid), system.pagemap(*pid)) else {
            continue;
        };
        for mapping in mappings {
            let _ = each_page(&pagemap, mapping.start..mapping.end, &system.geometry, |page, _| {
                numbers.extend(page.entry.page_number().filter(|_| !page.zero));
            });
        }
    }
    if numbers.is_empty() {
        return Err("only root sees the numbers of pages in memory".to_owned());
    }
    IdlePages::mark(&system.page_idle, &numbers)
}

fn read(
    system: &System,
    pid: u32,
    start_ticks: u64,
    untouched: &IdlePages,
) -> Result<(TaskStatus, Vec<ReadMapping>), String> {
    if system.start_ticks(pid)? != start_ticks {
        return Err("it has ended; another process has its number now".to_owned());
    }
    let geometry = &system.geometry;
    let smaps = system.smaps(pid)?;
    let pagemap = system.pagemap(pid)?;
    let status = system.status(pid)?;
    if status.vm_pte_kb.is_none() || smaps.is_empty() {
        return Err("it has ended".to_owned());
    }
    let kinds = kinds(&smaps, system.program(pid).as_deref());
    let is_idle = |number| untouched.contains(number);
    let mappings = smaps
        .into_iter()
        .zip(kinds)
        .map(|(smaps, kind)| ReadMapping::read(&pagemap, smaps, kind, geometry, &is_idle))
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{}: {error}", system.path(pid, "pagemap").display()))?;
    Ok((status, mappings))
}
