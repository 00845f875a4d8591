//! What lies under a knee, in words.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cause, Mover, meaning};
use crate::sweep::{Curve, Point};

/// What counters that rose with a cause say, the most specific first.
const SENTENCES: [(Cause, &str); 8] = [
    (Cause::Swap, "anonymous memory is swapped out and read back"),
    (Cause::FileRefault, "file pages are evicted and read again"),
    (Cause::Reading, "pages are read from a disk"),
    (Cause::PageTables, "page tables take memory"),
    (Cause::Compaction, "memory is moved to make huge pages, or none are had"),
    (Cause::Translation, "the processor looks up more translations: the reach of the TLB"),
    (Cause::Writeback, "writers wait for the disk"),
    (Cause::Quota, "the quota of CPU time is used up"),
];

/// Where one looks first, by what it would be: counters of which none is at 0 by chance.
const FIRST_LOOKS: [(&str, &[&str]); 4] = [
    ("reclaim of the whole machine", &["vmstat.pgscan_", "vmstat.pgsteal_", "vmstat.allocstall"]),
    ("swapping", &["vmstat.pswpin", "vmstat.pswpout"]),
    ("direct compaction", &["vmstat.compact_stall"]),
    ("major faults", &["vmstat.pgmajfault"]),
];

/// One line; `None` if nothing but clocks was counted.
pub(super) fn conclusion(curve: &Curve, movers: &[Mover]) -> Option<String> {
    let is_told = |name: &String| {
        name != "work" && !matches!(meaning::meaning(name), Some((Cause::Clock, _)))
    };
    let mut counted =
        curve.points.iter().flat_map(|point| point.figures.keys().chain(point.counters.keys()));
    if !counted.any(is_told) {
        return None;
    }
    let rose = |cause: Cause| {
        movers.iter().find(|mover| mover.cause == Some(cause) && mover.after > mover.before)
    };
    // A page that comes back is read from a disk, and the fault is a major one.
    let is_implied = |cause: Cause| {
        cause == Cause::Reading
            && (rose(Cause::Swap).is_some() || rose(Cause::FileRefault).is_some())
    };
    let said: Vec<&str> = SENTENCES
        .iter()
        .filter(|(cause, _)| rose(*cause).is_some() && !is_implied(*cause))
        .map(|(_, sentence)| *sentence)
        .collect();
    let at_limit = rose(Cause::Limit).map(|_| "the control group is at its limit");
    if !said.is_empty() {
        return Some(said.into_iter().chain(at_limit).collect::<Vec<_>>().join("; "));
    }
    if let Some(at_limit) = at_limit {
        return Some(at_limit.to_owned());
    }
    if rose(Cause::Mapping).is_some() {
        return Some("mappings are lost and faulted in again".to_owned());
    }
    let other = movers.iter().find(|mover| mover.cause != Some(Cause::Clock));
    if let Some(other) = other {
        let meaning = other.meaning.as_ref().map_or(String::new(), |words| format!(" ({words})"));
        return Some(format!("no cause is certain; {}{meaning} moved most", other.name));
    }
    let has_counters = curve.points.iter().any(|point| !point.counters.is_empty());
    Some(match has_counters {
        true => "no kernel counter moved: translation (TLB) or cache".to_owned(),
        false => "no figure moved but time".to_owned(),
    })
}

/// Counters where one would look first that stayed at 0 in every measurement beyond the knee.
pub(super) fn still(beyond: &[&Point]) -> Vec<String> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, value) in beyond.iter().flat_map(|point| &point.counters) {
        *sums.entry(name).or_default() += value.abs();
    }
    let said = FIRST_LOOKS.iter().filter_map(|(what, names)| {
        let of_these: Vec<(&&str, &f64)> = sums
            .iter()
            .filter(|(name, _)| names.iter().any(|beginning| name.starts_with(beginning)))
            .collect();
        let is_still = !of_these.is_empty() && of_these.iter().all(|(_, sum)| **sum == 0.0);
        let short: BTreeSet<&str> =
            of_these.iter().filter_map(|(name, _)| meaning::bare(name).split('_').next()).collect();
        let short = short.into_iter().collect::<Vec<_>>().join(", ");
        is_still.then(|| format!("no {what} ({short}: 0)"))
    });
    said.collect()
}
