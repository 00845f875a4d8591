//! The cause of a knee, in words.

use super::{Cause, Mover, meaning};
use crate::sweep::{Curve, Point};

/// Sentences on causes, the most specific first.
const SENTENCES: [(Cause, &str); 9] = [
    (Cause::Swap, "anonymous memory is swapped out and read back"),
    (Cause::FileRefault, "file pages are evicted and read again"),
    (Cause::Reading, "pages are read from a disk"),
    (Cause::PageTables, "page tables take memory"),
    (Cause::Compaction, "memory is compacted for huge pages, or none are available"),
    (Cause::Translation, "the processor looks up more translations: the reach of the TLB"),
    (Cause::Stealing, "groups of translations (pmegs) are stolen and faulted in again"),
    (Cause::Writeback, "writers wait for the disk"),
    (Cause::Quota, "the quota of CPU time is used up"),
];

/// Obvious suspects, as the reader sees them, and the beginnings of their counters in `vmstat`.
const SUSPECTS: [(&str, &str, &str); 4] = [
    // Not `pgscan_file` or `pgscan_anon`, which newer kernels count for control groups too.
    (
        "reclaim of the whole machine",
        "pgscan and pgsteal of kswapd and direct, allocstall",
        "pgscan_kswapd pgscan_direct pgsteal_kswapd pgsteal_direct allocstall",
    ),
    ("swapping", "pswpin, pswpout", "pswpin pswpout"),
    ("direct compaction", "compact_stall", "compact_stall"),
    ("major faults", "pgmajfault", "pgmajfault"),
];

/// One line; `None` if nothing but clocks was counted.
pub(super) fn conclusion(curve: &Curve, movers: &[Mover]) -> Option<String> {
    let is_no_clock = |name: &&String| !matches!(meaning::meaning(name), Some((Cause::Clock, _)));
    super::names(curve).into_iter().find(is_no_clock)?;
    let rose = |cause: Cause| {
        movers.iter().find(|mover| mover.cause == Some(cause) && mover.after > mover.before)
    };
    // Pages come back from a disk; a process without translations looks idle and is swapped out.
    let is_implied = |cause: Cause| match cause {
        Cause::Reading => rose(Cause::Swap).is_some() || rose(Cause::FileRefault).is_some(),
        Cause::Swap => rose(Cause::Stealing).is_some(),
        _ => false,
    };
    let causes = SENTENCES.iter().filter(|(it, _)| rose(*it).is_some() && !is_implied(*it));
    let at_limit = rose(Cause::Limit).map(|_| "the control group is at its limit");
    let causes: Vec<&str> = causes.map(|(_, sentence)| *sentence).chain(at_limit).collect();
    if !causes.is_empty() {
        return Some(causes.join("; "));
    }
    if rose(Cause::Mapping).is_some() {
        return Some("mappings are lost and faulted in again".to_owned());
    }
    let other = movers.iter().find(|mover| mover.cause != Some(Cause::Clock));
    if let Some(other) = other {
        let meaning = other.meaning.as_ref().map_or(String::new(), |words| format!(" ({words})"));
        return Some(format!("no cause is certain; {}{meaning} changed most", other.name));
    }
    let has_counters = curve.points.iter().any(|point| !point.counters.is_empty());
    Some(match has_counters {
        true => "no kernel counter changed: translation (TLB) or cache".to_owned(),
        false => "nothing changed but time".to_owned(),
    })
}

/// Suspects that were measured and stayed at 0 in every measurement beyond the knee.
pub(super) fn still(beyond: &[&Point]) -> Vec<String> {
    let still = SUSPECTS.iter().filter_map(|(what, counters, names)| {
        let is_of_these = |name: &str| {
            name.strip_prefix("vmstat.")
                .is_some_and(|name| names.split(' ').any(|beginning| name.starts_with(beginning)))
        };
        let counted = beyond.iter().flat_map(|point| &point.counters);
        let mut values = counted.filter(|(name, _)| is_of_these(name)).peekable();
        let is_still = values.peek().is_some() && values.all(|(_, value)| *value == 0.0);
        is_still.then(|| format!("no {what} ({counters}: 0)"))
    });
    still.collect()
}
