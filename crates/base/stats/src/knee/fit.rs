//! Curves of one to three segments, fitted to log cost over log level by least squares.

use super::sums::{Point, Segment, Sums, hinge_at};

/// Residuals below this (half a per cent) count as exact.
const EXACT: f64 = 0.005;

/// Parameters of a step: two constants, and the place between them.
pub(super) const STEP: usize = 3;

/// Fewest points that may determine a slope.
const SLOPE: usize = 4;

/// A plateau, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bend {
    /// Index of the last point on the plateau.
    pub after: usize,
    /// Logarithm of the level where the plateau ends.
    pub at: f64,
    /// Whether the segments meet there, or jump between two points.
    pub joined: bool,
    pub plateau: Segment,
    /// The segment right after the plateau.
    pub beyond: Segment,
    /// The first point of a third segment, and that segment.
    pub last: Option<(usize, Segment)>,
}

impl Bend {
    /// The curve's value for a point.
    pub(super) fn fitted(&self, index: usize, x: f64) -> f64 {
        match self.last {
            Some((from, line)) if index >= from => line.at(x),
            _ if index > self.after => self.beyond.at(x),
            _ => self.plateau.at(x),
        }
    }
}

/// The best curves with one segment, and with more. Schwarz's criterion: smaller is better.
pub(super) struct Curves {
    /// Slope of the line through all.
    pub slope: f64,
    pub straight_bic: f64,
    /// More segments with their criterion, absent with too few points.
    pub bent: Option<(f64, Bend)>,
}

/// Fits all curves that the points allow by the rules of docs/sweeps.md (Hudson 1966), compared by
/// Schwarz's criterion, which counts a break point twice (Zhang and Siegmund 2007).
pub(super) fn curves(points: &[Point], minimum_rise: f64) -> Curves {
    let mut before = vec![Sums::default()];
    for (index, point) in points.iter().enumerate() {
        before.push(before[index].with(point.x, point.y, point.weight));
    }
    let mean_weight = before[points.len()].weight() / points.len() as f64;
    let mut search = Search { points, before, mean_weight, minimum_rise, best: None };
    let all = search.sums(0, points.len());
    let (flat, line) = (all.constant(), all.line());
    let straight_bic = search.bic(flat.1, 1, 0).min(search.bic(line.1, 2, 0));
    for after in 0..points.len() - 1 {
        search.steps(after);
        search.hinges(after);
        search.three_segments(after);
    }
    Curves { slope: line.0.slope, straight_bic, bent: search.best }
}

struct Search<'a> {
    points: &'a [Point],
    /// Sums over all points before the index.
    before: Vec<Sums>,
    mean_weight: f64,
    minimum_rise: f64,
    best: Option<(f64, Bend)>,
}

impl Search<'_> {
    fn sums(&self, from: usize, to: usize) -> Sums {
        self.before[to].less(&self.before[from])
    }

    /// A constant and, with enough points, a line: each with its residual sum and coefficients.
    fn segments(
        &self,
        from: usize,
        to: usize,
    ) -> impl Iterator<Item = (Segment, f64, usize)> + use<> {
        let sums = self.sums(from, to);
        let (constant, line) = (sums.constant(), sums.line());
        let sloped = (to - from >= SLOPE).then_some((line.0, line.1, 2));
        [Some((constant.0, constant.1, 1)), sloped].into_iter().flatten()
    }

    fn bic(&self, rss: f64, coefficients: usize, places: usize) -> f64 {
        let n = self.points.len() as f64;
        let variance = (rss / self.mean_weight / n).max(EXACT * EXACT);
        n * variance.ln() + (coefficients + 2 * places) as f64 * n.ln()
    }

    /// Keeps the best curve: a plain step always, any other if it leaves two degrees of freedom.
    fn offer(&mut self, rss: f64, (coefficients, places): (usize, usize), bend: Bend) {
        let bic = self.bic(rss, coefficients, places);
        let better = self.best.is_none_or(|(best, _)| bic < best);
        let parameters = coefficients + places;
        let is_plain_step = !bend.joined && parameters == STEP;
        if better && (is_plain_step || parameters + 2 <= self.points.len()) {
            self.best = Some((bic, bend));
        }
    }

    /// A jump between two neighbours.
    fn steps(&mut self, after: usize) {
        let (last, next) = (self.points[after].x, self.points[after + 1].x);
        let at = f64::midpoint(last, next);
        for (plateau, left, left_coefficients) in self.segments(0, after + 1) {
            for (beyond, right, right_coefficients) in self.segments(after + 1, self.points.len()) {
                if (beyond.at(next) - plateau.at(next)).abs() >= self.minimum_rise / 2.0 {
                    let bend = Bend { after, at, joined: false, plateau, beyond, last: None };
                    self.offer(left + right, (left_coefficients + right_coefficients, 1), bend);
                }
            }
        }
    }

    /// A join between two neighbours, or at the lower one.
    fn hinges(&mut self, after: usize) {
        let points = self.points;
        if points.len() - after <= 2 {
            return;
        }
        let (last, next) = (points[after].x, points[after + 1].x);
        let (beyond, right) = self.sums(after + 1, points.len()).line();
        for (plateau, left, coefficients) in self.segments(0, after + 1) {
            let between = plateau.meets(&beyond).filter(|at| (last..=next).contains(at));
            let fitted = match between {
                Some(_) => Some((plateau, beyond, left + right)),
                None => hinge_at(points, last, coefficients == 2),
            };
            if let Some((plateau, beyond, rss)) = fitted {
                let at = between.unwrap_or(last);
                let bend = Bend { after, at, joined: true, plateau, beyond, last: None };
                self.offer(rss, (coefficients + 1, 1), bend);
            }
        }
    }

    /// The plateau up to `after`, then two more segments.
    fn three_segments(&mut self, after: usize) {
        let points = self.points;
        let (plateau, left) = self.sums(0, after + 1).constant();
        for second in after + 1..points.len() - 1 {
            let (middle, between) = self.sums(after + 1, second + 1).constant();
            let (line, right) = self.sums(second + 1, points.len()).constant();
            let at = f64::midpoint(points[after].x, points[after + 1].x);
            let jumps = [middle.value - plateau.value, line.value - middle.value];
            if jumps.iter().all(|jump| jump.abs() >= self.minimum_rise) {
                let last = Some((second + 1, line));
                let bend = Bend { after, at, joined: false, plateau, beyond: middle, last };
                self.offer(left + between + right, (3, 2), bend);
            }
            if second > after + 1 {
                self.slope_between(after, second);
            }
        }
    }

    /// Constant up to `from`, constant from `to` on, and a slope that joins them.
    fn slope_between(&mut self, from: usize, to: usize) {
        let points = self.points;
        let (start, end) = (points[from].x, points[to].x);
        let part = |point: &Point| ((point.x - start) / (end - start)).clamp(0.0, 1.0);
        let (whole, rss) = Sums::new(points, part, |point| point.y).line();
        if whole.slope < self.minimum_rise {
            return;
        }
        let plateau = Segment { value: whole.value, slope: 0.0 };
        let slope = whole.slope / (end - start);
        let beyond = Segment { value: whole.value - slope * start, slope };
        let last = Some((to, Segment { value: whole.value + whole.slope, slope: 0.0 }));
        // The upper corner may lie before `to`: only points before it are on the slope.
        let inside = if to > from + 2 { to } else { to + 1 };
        let (free, _) = self.sums(from + 1, inside).line();
        let meets = plateau.meets(&free).unwrap_or(start);
        let at = meets.clamp(points[from.saturating_sub(1)].x, points[from + 1].x);
        let bend = Bend { after: from, at, joined: true, plateau, beyond, last };
        self.offer(rss, (2, 2), bend);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(levels: &[f64], costs: &[f64]) -> Vec<Point> {
        let point = |(level, cost): (&f64, &f64)| Point {
            level: *level,
            x: level.ln(),
            y: cost.ln(),
            weight: 1.0,
            lowest: cost.ln(),
            highest: cost.ln(),
        };
        levels.iter().zip(costs).map(point).collect()
    }

    /// By NumPy 2.4: `lstsq` of a level line with a bend, at each of 200,001 places for the bend.
    #[test]
    fn the_best_hinge_agrees_with_an_exhaustive_search() {
        let levels = [2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0];
        let costs = [1.02, 0.98, 1.01, 1.0, 1.03, 1.35, 2.1, 2.7, 4.2];
        let curves = curves(&points(&levels, &costs), 1.5_f64.ln());
        let (_, bend) = curves.bent.unwrap();
        assert!(bend.joined && bend.last.is_none(), "{bend:?}");
        assert!((bend.at.exp() - 23.543_876_9).abs() < 2e-3, "{}", bend.at.exp());
        assert!((bend.beyond.slope - 1.012_811_9).abs() < 1e-4, "{bend:?}");
        assert!((bend.plateau.value - 0.002_385_71).abs() < 1e-5, "{bend:?}");
    }

    #[test]
    fn a_hinge_at_a_level_is_found_there_with_its_plateau() {
        let levels: Vec<f64> = (1..=12).map(f64::from).collect();
        let cost = |level: &f64| level.powf(0.1) * (level / 6.0).max(1.0).powi(2);
        let costs: Vec<f64> = levels.iter().map(cost).collect();
        let (_, bend) = curves(&points(&levels, &costs), 1.5_f64.ln()).bent.unwrap();
        assert!((bend.at.exp() - 6.0).abs() < 1e-6, "{bend:?}");
        assert!((bend.plateau.slope - 0.1).abs() < 1e-6, "{bend:?}");
        assert!((bend.beyond.slope - 2.1).abs() < 1e-6, "{bend:?}");
    }
}
