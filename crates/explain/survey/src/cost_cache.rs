//! Unit costs, cached until the next boot, for one kernel.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use doctor::UnitCosts;
use serde::{Deserialize, Serialize};

use crate::calibrate::calibrate;

/// Version of the measurements; costs of other versions are measured again.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    boot_id: String,
    kernel: String,
    costs: UnitCosts,
}

/// What is done with costs in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedCosts {
    /// They are measured again.
    Replace,
    /// They are used, and completed.
    Reuse,
    /// They are used, and nothing is written, not even the file of the calibration.
    ReadOnly,
}

/// The unit costs of this machine, and why they could not be kept: those in `cache_dir/BOOTID.json`,
/// if `cached` allows it, or measured now by [`calibrate()`]. A file that is damaged, or of another
/// kernel or version, is replaced; missing costs are tried again; after a stop nothing is kept.
pub fn unit_costs(
    cache_dir: Option<&Path>,
    work_dirs: &[PathBuf],
    cached: CachedCosts,
    stop: &dyn Fn() -> bool,
) -> (UnitCosts, Option<String>) {
    let work_dirs = if cached == CachedCosts::ReadOnly { &[] } else { work_dirs };
    let measure = |known| calibrate(known, work_dirs, stop);
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    match (cache_dir, keep::host::boot_id()) {
        (None, _) => (measure(UnitCosts::default()), None),
        (_, Err(why)) => (measure(UnitCosts::default()), Some(why)),
        (Some(dir), Ok(boot_id)) => of_boot(dir, (&boot_id, &kernel), cached, stop, &measure),
    }
}

/// The costs of a boot and its kernel, kept or from `measure`.
fn of_boot(
    cache_dir: &Path,
    (boot_id, kernel): (&str, &str),
    cached: CachedCosts,
    stop: &dyn Fn() -> bool,
    measure: &dyn Fn(UnitCosts) -> UnitCosts,
) -> (UnitCosts, Option<String>) {
    let path = cache_dir.join(format!("{boot_id}.json"));
    let known = match cached {
        CachedCosts::Replace => None,
        CachedCosts::Reuse | CachedCosts::ReadOnly => read(&path, boot_id, kernel),
    };
    let count = known.as_ref().map(|known| known.costs.len());
    let costs = match known {
        Some(known) if known.missed.is_empty() => return (known, None),
        known => measure(known.unwrap_or_default()),
    };
    let has_new = count.is_none_or(|count| count < costs.costs.len());
    if cached == CachedCosts::ReadOnly || !has_new {
        return (costs, None);
    }
    if stop() {
        return (costs, Some("it was stopped".to_owned()));
    }
    let (boot_id, kernel) = (boot_id.to_owned(), kernel.to_owned());
    let kept = Kept { version: VERSION, boot_id, kernel, costs };
    let write = || -> io::Result<()> {
        fs::create_dir_all(cache_dir)?;
        keep::out_file::write_whole(&path, &serde_json::to_vec_pretty(&kept)?)
    };
    let not_kept = write().err().map(|error| format!("{}: {error}", path.display()));
    (kept.costs, not_kept)
}

/// The cached costs, if they are valid and of this boot, kernel and version.
fn read(path: &Path, boot_id: &str, kernel: &str) -> Option<UnitCosts> {
    let kept: Kept = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let is_cost = |ns: f64| ns.is_finite() && ns >= 0.0;
    let is_whole = kept.costs.costs.values().all(|cost| is_cost(cost.ns) && is_cost(cost.least_ns));
    let is_ours = (kept.version, &*kept.boot_id, &*kept.kernel) == (VERSION, boot_id, kernel);
    (is_ours && is_whole).then_some(kept.costs)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use doctor::{Operation, UnitCost};
    use proptest::prelude::*;

    use super::*;

    /// A way to measure that counts how often it is used.
    fn measure(count: &Cell<u32>) -> UnitCosts {
        count.set(count.get() + 1);
        let cost = UnitCost { ns: 2.5, least_ns: 2.0, repetitions: 3 };
        let missed = [(Operation::SwapIn, "no swap".to_owned())].into();
        UnitCosts { costs: [(Operation::FirstTouch, cost)].into(), missed }
    }

    /// Measures all, if anything is not known.
    fn measure_rest(known: UnitCosts, count: &Cell<u32>) -> UnitCosts {
        if known.costs.is_empty() { measure(count) } else { known }
    }

    fn of(dir: &Path, boot: (&str, &str), count: &Cell<u32>) -> (UnitCosts, Option<String>) {
        of_boot(dir, boot, CachedCosts::Reuse, &|| false, &|known| measure_rest(known, count))
    }

    #[test]
    fn costs_are_measured_once_a_boot_and_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("unit-costs");
        let count = Cell::new(0);
        let first = of(&cache, ("boot", "6.1"), &count);
        assert_eq!((&first.1, count.get()), (&None, 1));
        assert_eq!((of(&cache, ("boot", "6.1"), &count), count.get()), (first, 1));
        for boot in [("other", "6.1"), ("boot", "6.2")] {
            assert_eq!(of(&cache, boot, &count).1, None);
        }
        assert_eq!(count.get(), 3);
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 2, "nothing else is left there");
    }

    #[test]
    fn what_cannot_be_kept_or_was_stopped_has_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let count = Cell::new(0);
        let (costs, why) = of(&file, ("boot", "6.1"), &count);
        assert!(costs.costs.contains_key(&Operation::FirstTouch));
        let why = why.unwrap();
        assert!(why.contains("file/boot.json"), "{why}");
        let stopped = of_boot(dir.path(), ("boot", "6.1"), CachedCosts::Reuse, &|| true, &|_| {
            measure(&count)
        });
        assert!(stopped.1.is_some());
        assert!(!dir.path().join("boot.json").exists());
    }

    #[test]
    fn what_was_missed_is_tried_again_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let count = Cell::new(0);
        let first = of(dir.path(), ("boot", "6.1"), &count).0;
        let swap = UnitCost { ns: 9.0, least_ns: 9.0, repetitions: 1 };
        let with_swap = |mut known: UnitCosts| {
            assert_eq!(known.costs, first.costs, "what is known is not measured again");
            known.costs.insert(Operation::SwapIn, swap);
            known.missed.clear();
            known
        };
        let boot = ("boot", "6.1");
        let with_swap = of_boot(dir.path(), boot, CachedCosts::Reuse, &|| false, &with_swap);
        assert_eq!(with_swap.1, None);
        assert_eq!(of(dir.path(), boot, &count), with_swap);
        assert_eq!(count.get(), 1);
    }

    #[test]
    fn a_cache_that_may_not_be_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let count = Cell::new(0);
        let read_only = || {
            let measure = |known| measure_rest(known, &count);
            of_boot(dir.path(), ("boot", "6.1"), CachedCosts::ReadOnly, &|| false, &measure)
        };
        let measured = read_only();
        assert_eq!((measured.1.as_ref(), count.get()), (None, 1));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        of(dir.path(), ("boot", "6.1"), &count);
        assert_eq!((read_only(), count.get()), (measured, 2));
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_measured_again(at in 0_usize..400, byte in any::<u8>(), cut: bool) {
            let dir = tempfile::tempdir().unwrap();
            let count = Cell::new(0);
            let (whole, _) = of(dir.path(), ("boot", "6.1"), &count);
            let path = dir.path().join("boot.json");
            let mut bytes = fs::read(&path).unwrap();
            let at = at % bytes.len();
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            fs::write(&path, &bytes).unwrap();
            let (costs, not_kept) = of(dir.path(), ("boot", "6.1"), &count);
            prop_assert_eq!(not_kept, None);
            match count.get() {
                1 => prop_assert!(costs.costs.values().all(|cost| cost.ns >= 0.0)),
                _ => prop_assert_eq!(costs, whole),
            }
        }
    }
}
