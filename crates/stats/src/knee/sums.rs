//! The points of a curve, and lines from their sums, so that any piece of a curve is fitted in constant time.

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
}

/// value + slope × x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub value: f64,
    pub slope: f64,
}

impl Line {
    pub(super) fn at(&self, x: f64) -> f64 {
        self.value + self.slope * x
    }

    /// Where two lines meet.
    pub(super) fn meets(&self, other: &Line) -> Option<f64> {
        let x = (self.value - other.value) / (other.slope - self.slope);
        x.is_finite().then_some(x)
    }
}

/// Weighted sums of powers and products.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    w: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    pub(super) fn with(&self, x: f64, y: f64, w: f64) -> Self {
        Self {
            w: self.w + w,
            x: self.x + w * x,
            y: self.y + w * y,
            xx: self.xx + w * x * x,
            xy: self.xy + w * x * y,
            yy: self.yy + w * y * y,
        }
    }

    pub(super) fn less(&self, other: &Self) -> Self {
        Self {
            w: self.w - other.w,
            x: self.x - other.x,
            y: self.y - other.y,
            xx: self.xx - other.xx,
            xy: self.xy - other.xy,
            yy: self.yy - other.yy,
        }
    }

    pub(super) fn weight(&self) -> f64 {
        self.w
    }

    /// The mean, and the residual sum of squares.
    pub(super) fn constant(&self) -> (Line, f64) {
        let value = self.y / self.w;
        (Line { value, slope: 0.0 }, (self.yy - self.y * value).max(0.0))
    }

    /// The line, and the residual sum of squares; the mean when all x are the same.
    pub(super) fn line(&self) -> (Line, f64) {
        let (constant, total) = self.constant();
        let sxx = self.xx - self.x * self.x / self.w;
        let sxy = self.xy - self.x * self.y / self.w;
        if sxx <= f64::EPSILON * self.xx.abs() {
            return (constant, total);
        }
        let slope = sxy / sxx;
        let value = (self.y - slope * self.x) / self.w;
        (Line { value, slope }, (total - slope * sxy).max(0.0))
    }
}

/// Plateau and continuation of a curve that bends at `knot`, and its residual sum of squares. A
/// plateau that is not `sloped` is level.
pub(super) fn hinge_at(points: &[Point], knot: f64, sloped: bool) -> Option<(Line, Line, f64)> {
    let excess = |point: &Point| (point.x - knot).max(0.0);
    if !sloped {
        let sums = points
            .iter()
            .fold(Sums::default(), |sums, point| sums.with(excess(point), point.y, point.weight));
        let (line, rss) = sums.line();
        let plateau = Line { value: line.value, slope: 0.0 };
        return Some((plateau, continued(plateau, line.slope, knot), rss));
    }
    // Frisch, Waugh and Lovell: what is left of y and of the excess after a line in x.
    let over_x = |value: &dyn Fn(&Point) -> f64| {
        points
            .iter()
            .fold(Sums::default(), |sums, point| sums.with(point.x, value(point), point.weight))
            .line()
    };
    let (of_y, _) = over_x(&|point| point.y);
    let (of_excess, left) = over_x(&excess);
    if left <= f64::EPSILON {
        return None;
    }
    let product: f64 = points
        .iter()
        .map(|p| p.weight * (p.y - of_y.at(p.x)) * (excess(p) - of_excess.at(p.x)))
        .sum();
    let bend = product / left;
    let plateau = Line {
        value: of_y.value - bend * of_excess.value,
        slope: of_y.slope - bend * of_excess.slope,
    };
    let rss = points.iter().map(|p| {
        let residual = p.y - plateau.at(p.x) - bend * excess(p);
        p.weight * residual * residual
    });
    Some((plateau, continued(plateau, bend, knot), rss.sum()))
}

/// The line that leaves `plateau` at `knot`, steeper by `bend`.
fn continued(plateau: Line, bend: f64, knot: f64) -> Line {
    Line { value: plateau.value - bend * knot, slope: plateau.slope + bend }
}
