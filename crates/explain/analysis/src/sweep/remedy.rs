//! What would let work live with a lower limit, as far as the counters are evidence of it.

use serde::Serialize;

use super::moved::Cause;
use super::{Curve, Moved, Priced};

/// Beginnings of the reasons of runs that died for lack of memory.
const OUT_OF_MEMORY: [&str; 2] = ["out of memory", "OOM"];
/// Where swapped pages return so many times as often as file pages, room for files would not help.
const MANY_TIMES: f64 = 10.0;

/// A remedy, with the size that it needs in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Its file pages are evicted and read again: hold them.
    HoldFiles {
        /// All of its file pages without a limit.
        bytes: f64,
    },
    /// Anonymous memory is swapped out and read back: swap that is faster.
    FasterSwap {
        /// The anonymous memory that the limit leaves no room for; `None` where the limit is
        /// larger than all of it, and the group's other memory takes the room.
        bytes: Option<f64>,
    },
    /// It dies for lack of memory and nothing is swapped: swap.
    Swap {
        /// The anonymous memory that the fatal limit leaves no room for.
        bytes: f64,
    },
    /// It is killed at its limit: a mark before it, at which it is slowed down.
    High {
        /// The mark.
        bytes: f64,
    },
    /// Its quota of CPU time is used up: a higher quota, or fewer threads.
    Quota,
}

/// The remedies for what moved at the knee, and for the death of the work.
pub(super) fn remedies(curve: &Curve, priced: &Priced, moved: Option<&Moved>) -> Vec<Remedy> {
    let rose = |cause: Cause| moved.is_some_and(|moved| moved.rose(cause));
    let base = priced.levels.first().map(|it| it.level);
    let size = |name: &str| {
        let without = curve.points.iter().filter(|point| Some(point.level) == base);
        without.filter_map(|point| point.sizes.get(name).copied()).reduce(f64::max)
    };
    let lacking = |level: f64| size("anonymous_bytes").map(|bytes| bytes - level);
    let is_positive = |bytes: &f64| *bytes > 0.0;
    let mut remedies = Vec::new();
    let rise = |counter: &str| moved.and_then(|moved| moved.rise(counter));
    let refaults = rise("workingset_refault_anon").zip(rise("workingset_refault_file"));
    let are_few = refaults.is_some_and(|(swapped, files)| swapped > MANY_TIMES * files);
    let is_of_files =
        rose(Cause::FileRefault) && !are_few || rose(Cause::Reading) && !rose(Cause::Swap);
    let files = size("file_bytes").filter(|bytes| is_of_files && is_positive(bytes));
    remedies.extend(files.map(|bytes| Remedy::HoldFiles { bytes }));
    let knee = priced.knee.filter(|_| rose(Cause::Swap));
    remedies.extend(knee.map(|knee| {
        let bytes = lacking(knee.dear).filter(is_positive);
        Remedy::FasterSwap { bytes }
    }));
    if rose(Cause::Quota) {
        remedies.push(Remedy::Quota);
    }
    let is_memory = curve.level_unit == "bytes";
    let death = priced.death.as_ref().filter(|death| {
        is_memory && OUT_OF_MEMORY.iter().any(|words| death.reason.contains(words))
    });
    let Some(death) = death else { return remedies };
    let swaps_out =
        |point: &super::Point| point.counters.get("vmstat.pswpout").is_some_and(|it| *it > 0.0);
    let lacking = lacking(death.first).filter(|_| !curve.points.iter().any(swaps_out));
    remedies.extend(lacking.filter(is_positive).map(|bytes| Remedy::Swap { bytes }));
    let recommended = priced.recommended.map(|it| it.level).filter(|it| Some(*it) != base);
    let mark = recommended.filter(|_| curve.parameter == "sandbox.memory");
    remedies.extend(mark.map(|bytes| Remedy::High { bytes }));
    remedies
}
