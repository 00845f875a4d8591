//! Working sets over time (Denning, "The working set model for program behavior", 1968).
//!
//! Time is counted in references. A unit stays in the working set until the window has gone by or
//! it is referred to again, so the mean size over all times is the sum of min(gap, window) over all
//! references, divided by the length of the trace (Denning and Schwartz, "Properties of the
//! working-set model", 1972). The end of the trace ends the last gap of a unit.

use super::key_table::KeyTable;
use super::log_linear::{bucket, lowest};

/// Steps in a doubling of gaps, as a logarithm.
const STEPS_LOG2: u32 = 2;

/// Mean working sets for all windows, and a series of windows.
#[derive(Clone, Debug, Default)]
pub struct WorkingSet {
    units: Times,
    regions: Times,
    /// The shift from a unit's key to that of its region.
    region_shift: u32,
    /// The last key, and the numbers of its unit and region.
    last: Option<(u64, usize, usize)>,
    window: u64,
    now: u64,
    gaps: Gaps,
    open: Window,
    windows: Vec<Window>,
}

/// The references of a window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Window {
    /// Number of references before it.
    pub first: u64,
    /// Number of its references; only the last window may have fewer.
    pub references: u64,
    /// Distinct units.
    pub units: u64,
    /// Distinct units that the trace refers to for the first time.
    pub new_units: u64,
    /// Distinct regions of 2 MiB.
    pub regions: u64,
}

/// The mean working set for a window.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct MeanSize {
    /// Length of the window in references.
    pub window: u64,
    /// Mean number of distinct units in it.
    pub units: f64,
}

impl WorkingSet {
    /// A region has 2^`region_shift` units, a window of the series at least one reference.
    pub fn new(region_shift: u32, window: u64) -> Self {
        Self { region_shift, window: window.max(1), ..Self::default() }
    }

    /// Refers to one key `count` times in a row, at least once.
    #[inline]
    pub fn run(&mut self, key: u64, count: u64) {
        let mut left = count;
        match self.last {
            Some((last, ..)) if last == key => self.gaps.add(1, count),
            _ => {
                self.change_to(key);
                self.gaps.add(1, count - 1);
            }
        }
        while left > 0 {
            if self.open.references == self.window {
                self.close();
                // A continued run is in the next window too.
                (self.open.units, self.open.regions) = (1, 1);
            }
            let part = left.min(self.window - self.open.references);
            self.open.references += part;
            self.now += part;
            left -= part;
        }
    }

    fn change_to(&mut self, key: u64) {
        self.leave();
        if self.open.references == self.window {
            self.close();
        }
        let (unit, before) = self.units.find(key, self.now);
        if let Some(before) = before {
            self.gaps.add(self.now - before, 1);
        }
        let (region, region_before) = self.regions.find(key >> self.region_shift, self.now);
        self.open.new_units += u64::from(before.is_none());
        self.open.units += u64::from(before.is_none_or(|before| before < self.open.first));
        let is_new = region_before.is_none_or(|before| before < self.open.first);
        self.open.regions += u64::from(is_new);
        self.last = Some((key, unit, region));
    }

    /// Records the time of the last reference to the current key.
    fn leave(&mut self) {
        if let Some((_, unit, region)) = self.last {
            self.units.times[unit] = self.now - 1;
            self.regions.times[region] = self.now - 1;
        }
    }

    fn close(&mut self) {
        let next = Window { first: self.now, ..Window::default() };
        self.windows.push(std::mem::replace(&mut self.open, next));
    }

    /// The windows of the series, and the mean sizes for windows of four lengths in each doubling.
    pub fn finish(mut self) -> (Vec<Window>, Vec<MeanSize>) {
        self.leave();
        if self.open.references > 0 {
            self.close();
        }
        for last in &self.units.times {
            self.gaps.add(self.now - last, 1);
        }
        (self.windows, self.gaps.mean_sizes(self.now))
    }
}

/// The times of the last references to keys.
#[derive(Clone, Debug, Default)]
struct Times {
    table: KeyTable,
    times: Vec<u64>,
}

impl Times {
    /// The number of a key, which it keeps, and its time; `None` if it is new.
    fn find(&mut self, key: u64, now: u64) -> (usize, Option<u64>) {
        let (mut slot, index) = self.table.find(key);
        if let Some(index) = index {
            return (index as usize, Some(self.times[index as usize]));
        }
        if self.table.is_full() {
            self.table.grow();
            slot = self.table.find(key).0;
        }
        self.table.insert(slot, key, self.times.len() as u32);
        self.times.push(now);
        (self.times.len() - 1, None)
    }
}

/// Number and sum of the gaps between references to a unit, by buckets that end at round numbers.
#[derive(Clone, Debug, Default)]
struct Gaps(Vec<(u64, u64)>);

impl Gaps {
    /// `count` gaps of a length, which is at least 1.
    #[inline]
    fn add(&mut self, gap: u64, count: u64) {
        let bucket = bucket(gap - 1, STEPS_LOG2);
        if bucket >= self.0.len() {
            self.0.resize(bucket + 1, (0, 0));
        }
        self.0[bucket].0 += count;
        self.0[bucket].1 += gap * count;
    }

    fn mean_sizes(&self, references: u64) -> Vec<MeanSize> {
        let mut longer: u64 = self.0.iter().map(|(count, _)| count).sum();
        let mut sum = 0;
        let mut mean = |(index, (count, gaps)): (usize, &(u64, u64))| {
            longer -= count;
            sum += gaps;
            let window = lowest(index + 1, STEPS_LOG2);
            // In 128 bits: a window times the number of references.
            let all = u128::from(sum) + u128::from(window) * u128::from(longer);
            MeanSize { window, units: all as f64 / references as f64 }
        };
        self.0.iter().enumerate().map(&mut mean).collect()
    }
}
