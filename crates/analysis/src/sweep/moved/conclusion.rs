//! What lies under a knee, in words.

use std::collections::BTreeMap;

use super::{Cause, Mover, meaning};
use crate::sweep::{Curve, Point};

/// What counters that rose with a cause say, the most specific first.
const SENTENCES: [(Cause, &str); 9] = [
    (Cause::Swap, "anonymous memory is swapped out and read back"),
    (Cause::FileRefault, "file pages are evicted and read again"),
    (Cause::Reading, "pages are read from a disk"),
    (Cause::PageTables, "page tables take memory"),
    (Cause::Compaction, "memory is moved to make huge pages, or none are had"),
    (Cause::Translation, "the processor looks up more translations: the reach of the TLB"),
    (Cause::Stealing, "groups of translations (pmegs) are stolen and faulted in again"),
    (Cause::Writeback, "writers wait for the disk"),
    (Cause::Quota, "the quota of CPU time is used up"),
];

/// Where one looks first, by what it would be: counters of which none is at 0 by chance.
const FIRST_LOOKS: [(&str, &str, &[&str]); 4] = [
    // Scans of file and anonymous pages count those of control groups too, in newer kernels.
    (
        "reclaim of the whole machine",
        "pgscan and pgsteal of kswapd and direct, allocstall",
        &[
            "vmstat.pgscan_kswapd",
            "vmstat.pgscan_direct",
            "vmstat.pgsteal_kswapd",
            "vmstat.pgsteal_direct",
            "vmstat.allocstall",
        ],
    ),
    ("swapping", "pswpin, pswpout", &["vmstat.pswpin", "vmstat.pswpout"]),
    ("direct compaction", "compact_stall", &["vmstat.compact_stall"]),
    ("major faults", "pgmajfault", &["vmstat.pgmajfault"]),
];

/// One line; `None` if nothing but clocks was counted.
pub(super) fn conclusion(curve: &Curve, movers: &[Mover]) -> Option<String> {
    let is_told = |name: &&String| !matches!(meaning::meaning(name), Some((Cause::Clock, _)));
    super::names(curve).into_iter().find(is_told)?;
    let rose = |cause: Cause| {
        movers.iter().find(|mover| mover.cause == Some(cause) && mover.after > mover.before)
    };
    // A page that comes back is read from a disk, and the fault is a major one; a process that has
    // lost all its translations is taken for an idle one and swapped out.
    let is_implied = |cause: Cause| match cause {
        Cause::Reading => rose(Cause::Swap).is_some() || rose(Cause::FileRefault).is_some(),
        Cause::Swap => rose(Cause::Stealing).is_some(),
        _ => false,
    };
    let is_said = |cause: Cause| rose(cause).is_some() && !is_implied(cause);
    let said = SENTENCES.iter().filter(|(cause, _)| is_said(*cause)).map(|(_, sentence)| *sentence);
    let at_limit = rose(Cause::Limit).map(|_| "the control group is at its limit");
    let said: Vec<&str> = said.chain(at_limit).collect();
    if !said.is_empty() {
        return Some(said.join("; "));
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
    let said = FIRST_LOOKS.iter().filter_map(|(what, counters, names)| {
        let is_of_these = |name: &str| names.iter().any(|beginning| name.starts_with(beginning));
        let mut of_these = sums.iter().filter(|(name, _)| is_of_these(name)).peekable();
        let is_still = of_these.peek().is_some() && of_these.all(|(_, sum)| *sum == 0.0);
        is_still.then(|| format!("no {what} ({counters}: 0)"))
    });
    said.collect()
}
