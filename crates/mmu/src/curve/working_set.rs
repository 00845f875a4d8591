//! Working sets over time (Denning, "The working set model for program behavior", 1968).
//!
//! Time is counted in references. The working set at a time is what was referred to within a window
//! that ends there. Each reference keeps its unit in the working set until the window has gone by or
//! the unit is referred to again, so the mean size over all times is the sum of min(gap, window)
//! over all references, divided by the length of the trace: all windows follow from how often each
//! gap was seen (Denning and Schwartz, "Properties of the working-set model", 1972; the end of the
//! trace ends the last gap of a unit).

use super::log_linear::{bucket, lowest};
use super::times::Times;

/// Steps in a doubling of gaps, as a logarithm.
const STEPS_LOG2: u32 = 2;

/// Mean working sets for all windows, and what was referred to window by window.
#[derive(Clone, Debug)]
pub struct WorkingSet {
    units: Times,
    regions: Times,
    /// What the number of a unit is shifted by to be that of its region.
    region_shift: u32,
    /// The key referred to last, and the numbers of its unit and region.
    last: Option<(u64, usize, usize)>,
    window: u64,
    now: u64,
    gaps: Gaps,
    open: Window,
    windows: Vec<Window>,
}

/// What was referred to in a window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Window {
    /// How many references stand before it.
    pub first: u64,
    /// How many it has; all windows have the same, only the last may have fewer.
    pub references: u64,
    /// Distinct units.
    pub units: u64,
    /// Of these, the ones that were not referred to before.
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
    /// Nothing yet. `region_shift` is the logarithm of the units in a region; windows of the series
    /// have `window` references, at least 1.
    pub fn new(region_shift: u32, window: u64) -> Self {
        Self {
            units: Times::new(),
            regions: Times::new(),
            region_shift,
            last: None,
            window: window.max(1),
            now: 0,
            gaps: Gaps::default(),
            open: Window::default(),
            windows: Vec::new(),
        }
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
                // What goes on is in the next window too.
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

    /// Notes when the present key was referred to last.
    fn leave(&mut self) {
        if let Some((_, unit, region)) = self.last {
            self.units.set(unit, self.now - 1);
            self.regions.set(region, self.now - 1);
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
        for last in self.units.all() {
            self.gaps.add(self.now - last, 1);
        }
        (self.windows, self.gaps.mean_sizes(self.now))
    }
}

/// How often each gap between references to a unit was seen, and the sum of these, by buckets whose
/// last gap is a round number.
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
