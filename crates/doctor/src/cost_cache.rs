//! Unit costs, kept for as long as they are true: until the next boot, for one kernel.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{UnitCosts, calibrate};

/// Version of the measurements: costs that were measured otherwise are measured again.
const VERSION: u32 = 2;

/// Unit costs as they are kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    boot_id: String,
    kernel: String,
    costs: UnitCosts,
}

/// Where unit costs come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostSource {
    /// They were measured since this boot.
    Cached,
    /// They were measured now; if they could not be kept, why.
    Measured {
        /// Why they are not kept; `None`: they are.
        not_kept: Option<String>,
    },
}

/// A way to costs of a boot and its kernel, from where they are kept, given how to measure them.
type Way = fn(&Path, (&str, &str), &dyn Fn() -> bool, &Measure<'_>) -> (UnitCosts, CostSource);

/// Measures what is not known already.
type Measure<'a> = dyn Fn(UnitCosts) -> UnitCosts + 'a;

/// Measures the unit costs of this machine now, and keeps them as [`cached_or_measured`] does.
pub fn measured_anew(
    cache_dir: &Path,
    work_dirs: &[PathBuf],
    stop: &dyn Fn() -> bool,
) -> (UnitCosts, CostSource) {
    of_this_boot(cache_dir, work_dirs, stop, |cache_dir, boot, stop, measure| {
        measured(cache_dir, boot, stop, || measure(UnitCosts::default()))
    })
}

/// The unit costs of this machine: those kept in `cache_dir` since this boot, or measured now (with
/// a file in one of `work_dirs`; see [`calibrate()`]) and kept as `cache_dir/BOOTID.json`. A file
/// that is damaged, or of another kernel or version, is measured again and replaced; what was missed
/// is tried again, as the next user of a directory or of swap may get it. What was stopped is not
/// kept.
pub fn cached_or_measured(
    cache_dir: &Path,
    work_dirs: &[PathBuf],
    stop: &dyn Fn() -> bool,
) -> (UnitCosts, CostSource) {
    of_this_boot(cache_dir, work_dirs, stop, of_boot)
}

fn of_this_boot(
    cache_dir: &Path,
    work_dirs: &[PathBuf],
    stop: &dyn Fn() -> bool,
    way: Way,
) -> (UnitCosts, CostSource) {
    let measure = |known| calibrate(known, work_dirs, stop);
    match boot() {
        Ok((boot_id, kernel)) => way(cache_dir, (&boot_id, &kernel), stop, &measure),
        Err(why) => (measure(UnitCosts::default()), CostSource::Measured { not_kept: Some(why) }),
    }
}

/// This boot and its kernel.
fn boot() -> Result<(String, String), String> {
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    Ok((sys::host::boot_id()?, kernel))
}

/// The costs of a given boot: kept, or measured in a given way.
fn of_boot(
    cache_dir: &Path,
    (boot_id, kernel): (&str, &str),
    stop: &dyn Fn() -> bool,
    measure: &Measure<'_>,
) -> (UnitCosts, CostSource) {
    let known = read(&kept_at(cache_dir, boot_id), boot_id, kernel);
    let costs = match &known {
        Some(known) if known.missed.is_empty() => known.clone(),
        _ => measure(known.clone().unwrap_or_default()),
    };
    let has_more = known.is_none_or(|known| known.costs.len() < costs.costs.len());
    match has_more {
        false => (costs, CostSource::Cached),
        true => measured(cache_dir, (boot_id, kernel), stop, || costs),
    }
}

/// The file of a boot's costs.
fn kept_at(cache_dir: &Path, boot_id: &str) -> PathBuf {
    cache_dir.join(format!("{boot_id}.json"))
}

/// Costs of a given boot, measured now and kept.
fn measured(
    cache_dir: &Path,
    (boot_id, kernel): (&str, &str),
    stop: &dyn Fn() -> bool,
    measure: impl FnOnce() -> UnitCosts,
) -> (UnitCosts, CostSource) {
    let path = kept_at(cache_dir, boot_id);
    let costs = measure();
    if stop() {
        let not_kept = Some("it was stopped".to_owned());
        return (costs, CostSource::Measured { not_kept });
    }
    let (boot_id, kernel) = (boot_id.to_owned(), kernel.to_owned());
    let kept = Kept { version: VERSION, boot_id, kernel, costs };
    let not_kept = write(&path, &kept).err().map(|error| format!("{}: {error}", path.display()));
    (kept.costs, CostSource::Measured { not_kept })
}

/// What is kept, if it is whole and of this boot, kernel and version, and its figures are costs.
fn read(path: &Path, boot_id: &str, kernel: &str) -> Option<UnitCosts> {
    let kept: Kept = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let is_cost = |ns: f64| ns.is_finite() && ns >= 0.0;
    let is_whole = kept.costs.costs.values().all(|cost| is_cost(cost.ns) && is_cost(cost.least_ns));
    let is_ours = (kept.version, &*kept.boot_id, &*kept.kernel) == (VERSION, boot_id, kernel);
    (is_ours && is_whole).then_some(kept.costs)
}

/// Writes it, folder included.
fn write(path: &Path, kept: &Kept) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    sys::out_file::write_whole(path, &serde_json::to_vec_pretty(kept)?)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::{Operation, UnitCost};

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

    fn of(dir: &Path, boot: (&str, &str), count: &Cell<u32>) -> (UnitCosts, CostSource) {
        of_boot(dir, boot, &|| false, &|known| measure_rest(known, count))
    }

    #[test]
    fn costs_are_measured_once_a_boot_and_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("unit-costs");
        let count = Cell::new(0);
        let first = of(&cache, ("boot", "6.1"), &count);
        assert_eq!(first.1, CostSource::Measured { not_kept: None });
        assert_eq!(of(&cache, ("boot", "6.1"), &count), (first.0, CostSource::Cached));
        for boot in [("other", "6.1"), ("boot", "6.2")] {
            assert_eq!(of(&cache, boot, &count).1, CostSource::Measured { not_kept: None });
        }
        assert_eq!(count.get(), 3);
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 2, "nothing else is left there");
    }

    #[test]
    fn what_cannot_be_kept_or_was_stopped_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let count = Cell::new(0);
        let (costs, source) = of(&file, ("boot", "6.1"), &count);
        assert!(costs.costs.contains_key(&Operation::FirstTouch));
        let CostSource::Measured { not_kept: Some(why) } = source else { panic!("{source:?}") };
        assert!(why.contains("file/boot.json"), "{why}");
        let stopped = of_boot(dir.path(), ("boot", "6.1"), &|| true, &|_| measure(&count));
        assert!(matches!(stopped.1, CostSource::Measured { not_kept: Some(_) }));
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
        let (costs, source) = of_boot(dir.path(), boot, &|| false, &with_swap);
        assert_eq!(source, CostSource::Measured { not_kept: None });
        assert_eq!(of(dir.path(), boot, &count), (costs, CostSource::Cached));
        assert_eq!(count.get(), 1);
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
            let (costs, source) = of(dir.path(), ("boot", "6.1"), &count);
            match source {
                CostSource::Cached => prop_assert!(costs.costs.values().all(|cost| cost.ns >= 0.0)),
                CostSource::Measured { not_kept } => {
                    prop_assert_eq!(not_kept, None);
                    prop_assert_eq!(costs, whole);
                }
            }
        }
    }
}
