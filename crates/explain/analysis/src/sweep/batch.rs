//! The measurements that a search asks for.

/// The next measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Levels in the order from the range's first to its last.
    pub levels: Vec<f64>,
    /// Number of the batch's first pass, one above the highest of the curve.
    pub first_pass: u32,
    /// How many passes: even ones take the levels in order, odd ones in reverse.
    pub passes: u32,
    /// What it is for.
    pub purpose: Purpose,
}

/// What a batch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To see whether there is a knee.
    Coarse,
    /// To narrow its interval.
    Refine,
    /// To verify its sides, or that there is none.
    Verify,
    /// To narrow the gap between measurable and unmeasurable levels.
    Bracket,
}

impl Batch {
    /// Its measurements as pass and level, in order of time.
    pub fn measurements(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        (self.first_pass..self.first_pass + self.passes).flat_map(move |pass| {
            let mut levels = self.levels.clone();
            if pass % 2 == 1 {
                levels.reverse();
            }
            levels.into_iter().map(move |level| (pass, level))
        })
    }
}
