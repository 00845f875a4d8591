//! A subject that is a function, and the loop that measures it as a sweep would.

use analysis::sweep::{
    Batch, Curve, Point, Purpose, Range, Search, SearchSettings, Spacing, SweepResult,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Which way a level is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Up,
    Down,
}

/// What was measured, in what batches, and the result.
pub(crate) struct Sweep {
    pub(crate) curve: Curve,
    pub(crate) batches: Vec<Batch>,
    pub(crate) found: SweepResult,
}

impl Sweep {
    /// How many measurements were made.
    pub(crate) fn measurements(&self) -> usize {
        self.curve.points.len()
    }

    /// The knee that was found.
    pub(crate) fn knee(&self) -> &stats::Knee {
        match &self.found.shape {
            stats::Shape::Knee(knee) => knee,
            other => panic!("no knee but {other:?}"),
        }
    }

    /// Whether a batch of this purpose was measured.
    pub(crate) fn has(&self, purpose: Purpose) -> bool {
        self.batches.iter().any(|batch| batch.purpose == purpose)
    }

    /// Asserts that the knee's interval holds `truth` and is as narrow as requested.
    pub(crate) fn assert_knee_at(&self, truth: f64, settings: &SearchSettings) {
        let knee = self.knee();
        let said = format!("{knee:?} after {} measurements", self.measurements());
        assert!(knee.low <= truth && truth <= knee.high, "not at {truth}: {said}");
        assert!(knee.high - knee.low <= settings.resolution * knee.level, "too wide: {said}");
    }
}

/// A range of geometric spacing without quantum.
pub(crate) fn range(first: f64, last: f64) -> Range {
    Range { first, last, spacing: Spacing::Geometric, quantum: 0.0 }
}

/// Log-normal noise of measurement.
pub(crate) struct Noise {
    generator: Pcg64Mcg,
    deviation: f64,
}

impl Noise {
    pub(crate) fn new(deviation: f64, seed: u64) -> Self {
        Self { generator: Pcg64Mcg::seed_from_u64(seed), deviation }
    }

    /// A factor near 1 (Box and Muller 1958).
    pub(crate) fn factor(&mut self) -> f64 {
        let uniform: f64 = 1.0 - self.generator.random::<f64>();
        let angle = std::f64::consts::TAU * self.generator.random::<f64>();
        (self.deviation * (-2.0 * uniform.ln()).sqrt() * angle.cos()).exp()
    }
}

/// Sweeps over a subject until the search has enough. What cannot be measured is an error.
pub(crate) fn sweep(
    range: Range,
    settings: SearchSettings,
    measure: &mut dyn FnMut(f64, Way) -> Result<f64, String>,
) -> Sweep {
    sweep_from(Curve::default(), range, settings, &mut |point, way| match measure(point.level, way)
    {
        Ok(cost) => point.cost = Some(cost),
        Err(problem) => point.problem = Some(problem),
    })
}

/// Sweeps as [`sweep`], continuing from a curve; `measure` fills in what it measures.
pub(crate) fn sweep_from(
    mut curve: Curve,
    range: Range,
    settings: SearchSettings,
    measure: &mut dyn FnMut(&mut Point, Way),
) -> Sweep {
    let search = Search::new(range, settings).unwrap();
    let mut batches = Vec::new();
    while let Some(batch) = search.next(&curve) {
        assert!(batches.len() < 1000, "a search without end: {batch:?}");
        let mut before = None;
        for (pass, level) in batch.measurements() {
            let way = match before {
                Some((of, before)) if of == pass && before > level => Way::Down,
                Some((of, before)) if of == pass && before < level => Way::Up,
                _ if (pass % 2 == 0) == (range.first < range.last) => Way::Up,
                _ => Way::Down,
            };
            before = Some((pass, level));
            let mut point = Point { level, pass, ..Point::default() };
            measure(&mut point, way);
            curve.points.push(point);
        }
        batches.push(batch);
    }
    let found = analysis::sweep::find(&curve, &settings.find);
    Sweep { curve, batches, found }
}
