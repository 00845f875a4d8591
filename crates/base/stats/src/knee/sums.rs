//! The points of a curve, and lines from sums over any segment in constant time.

/// One point of the curve: the middle of a level's costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// The level itself.
    pub level: f64,
    /// Logarithm of the level.
    pub x: f64,
    /// Logarithm of the cost.
    pub y: f64,
    /// Replicates behind it.
    pub weight: f64,
    /// Logarithm of the lowest of their costs.
    pub lowest: f64,
    /// Logarithm of the highest.
    pub highest: f64,
}

/// value + slope × x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment {
    pub value: f64,
    pub slope: f64,
}

impl Segment {
    pub(super) fn at(&self, x: f64) -> f64 {
        self.value + self.slope * x
    }

    /// Where two lines meet.
    pub(super) fn meets(&self, other: &Segment) -> Option<f64> {
        let x = (self.value - other.value) / (other.slope - self.slope);
        x.is_finite().then_some(x)
    }
}

/// Weighted sums of 1, x, y, x², x y and y².
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums([f64; 6]);

impl Sums {
    pub(super) fn new(
        points: &[Point],
        x: impl Fn(&Point) -> f64,
        y: impl Fn(&Point) -> f64,
    ) -> Self {
        let add = |sums: Self, point: &Point| sums.with(x(point), y(point), point.weight);
        points.iter().fold(Self::default(), add)
    }

    pub(super) fn with(&self, x: f64, y: f64, w: f64) -> Self {
        let more = [w, w * x, w * y, w * x * x, w * x * y, w * y * y];
        Self(std::array::from_fn(|index| self.0[index] + more[index]))
    }

    pub(super) fn less(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index] - other.0[index]))
    }

    pub(super) fn weight(&self) -> f64 {
        self.0[0]
    }

    pub(super) fn constant(&self) -> (Segment, f64) {
        let [w, _, y, .., yy] = self.0;
        let value = y / w;
        (Segment { value, slope: 0.0 }, (yy - y * value).max(0.0))
    }

    /// The line, and the residual sum of squares; the mean when all x are the same.
    pub(super) fn line(&self) -> (Segment, f64) {
        let [w, x, y, xx, xy, _] = self.0;
        let (constant, total) = self.constant();
        let (sxx, sxy) = (xx - x * x / w, xy - x * y / w);
        if sxx <= f64::EPSILON * xx.abs() {
            return (constant, total);
        }
        let slope = sxy / sxx;
        (Segment { value: (y - slope * x) / w, slope }, (total - slope * sxy).max(0.0))
    }
}

/// Plateau, `sloped` or level, and continuation of a curve with a bend, with its residual sum.
pub(super) fn hinge_at(
    points: &[Point],
    knot: f64,
    sloped: bool,
) -> Option<(Segment, Segment, f64)> {
    let excess = |point: &Point| (point.x - knot).max(0.0);
    // The line that leaves a plateau at the knot, steeper by `bend`.
    let continued = |plateau: Segment, bend: f64| Segment {
        value: plateau.value - bend * knot,
        slope: plateau.slope + bend,
    };
    if !sloped {
        let (line, rss) = Sums::new(points, excess, |point| point.y).line();
        let plateau = Segment { value: line.value, slope: 0.0 };
        return Some((plateau, continued(plateau, line.slope), rss));
    }
    // Frisch, Waugh and Lovell: y and the excess, each regressed on x.
    let (of_y, _) = Sums::new(points, |point| point.x, |point| point.y).line();
    let (of_excess, left) = Sums::new(points, |point| point.x, excess).line();
    if left <= f64::EPSILON {
        return None;
    }
    let product: f64 = points
        .iter()
        .map(|p| p.weight * (p.y - of_y.at(p.x)) * (excess(p) - of_excess.at(p.x)))
        .sum();
    let bend = product / left;
    let plateau = Segment {
        value: of_y.value - bend * of_excess.value,
        slope: of_y.slope - bend * of_excess.slope,
    };
    let rss = points.iter().map(|p| {
        let residual = p.y - plateau.at(p.x) - bend * excess(p);
        p.weight * residual * residual
    });
    Some((plateau, continued(plateau, bend), rss.sum()))
}
