//! The sizes at which a program is simulated.

use std::f64::consts::SQRT_2;

use model::JobSpec;
use model::units::format_size;

use super::published::Published;
use crate::mmu::run::RunArgs;

/// From one size of the tables of 1990 to the next, in bytes.
const STEP_BYTES: u64 = 2 << 20;
/// Where their even steps end, in bytes.
const TABLE_BYTES: u64 = 32 << 20;
const MOST: usize = 10_000;

/// The sizes in bytes, from the smallest to the largest.
pub(super) fn levels(
    args: &RunArgs,
    job: &JobSpec,
    size: &str,
    published: Option<&Published>,
) -> Result<Vec<u64>, String> {
    let own = job.params.get(size).copied().unwrap_or(0);
    let unit = job.params.get("process_size").copied().unwrap_or(4096).max(1);
    let (first, last) = match (args.range, published) {
        (Some(range), _) => range,
        (None, Some(_)) => (0, u64::MAX),
        (None, None) => return Ok(vec![own]),
    };
    let levels = match (published, args.step) {
        (Some(table), None) => {
            table.levels().into_iter().filter(|level| (first..=last).contains(level)).collect()
        }
        (_, Some(step)) => even(first, last, step)?,
        (None, None) if last <= TABLE_BYTES && STEP_BYTES.is_multiple_of(unit) => {
            even(first, last, STEP_BYTES)?
        }
        (None, None) => ratios(first, last, unit),
    };
    match levels.is_empty() {
        true => Err(format!(
            "--range {}..{}: the table has no size in this range",
            format_size(first),
            format_size(last)
        )),
        false => Ok(levels),
    }
}

fn even(first: u64, last: u64, step: u64) -> Result<Vec<u64>, String> {
    match (last - first).checked_div(step) {
        None => Err("--step 0 goes nowhere".to_owned()),
        Some(count) if count as usize >= MOST => {
            Err(format!("--step: {count} sizes are too many, at most {MOST}"))
        }
        Some(count) => Ok((0..=count).map(|index| first + index * step).collect()),
    }
}

/// Sizes in ratios of the square root of 2, as multiples of a unit, both ends among them.
fn ratios(first: u64, last: u64, unit: u64) -> Vec<u64> {
    let mut levels = vec![first];
    let mut exact = first.max(1) as f64;
    loop {
        exact *= SQRT_2;
        let level = (exact / unit as f64).round() as u64 * unit;
        if level >= last {
            break;
        }
        levels.push(level);
    }
    levels.push(last);
    levels.dedup();
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_go_evenly_or_by_ratios() {
        let mib = |sizes: &[u64]| sizes.iter().map(|size| size >> 20).collect::<Vec<_>>();
        assert_eq!(mib(&even(2 << 20, 7 << 20, 2 << 20).unwrap()), [2, 4, 6]);
        assert!(even(1, 2, 0).is_err() && even(0, u64::MAX, 1).is_err());
        assert_eq!(mib(&ratios(2 << 20, 32 << 20, 2 << 20)), [2, 4, 6, 8, 12, 16, 22, 32]);
        assert_eq!(ratios(8, 8, 8), [8]);
    }
}
