//! Ordinary least squares for small dense problems, by orthogonalising the columns.

/// A column counts as a sum of earlier ones when less than this part of its length is left.
const DEPENDENT: f64 = 1e-9;

/// A solved problem of n rows and p columns.
pub(crate) struct LeastSquares {
    /// One coefficient a column.
    pub coefficients: Vec<f64>,
    /// (XᵀX)⁻¹: times the residual variance it is the covariance of the coefficients.
    pub unscaled_covariance: Vec<Vec<f64>>,
    /// Sum of squared residuals.
    pub residual_ss: f64,
    /// n - p.
    pub residual_df: usize,
}

/// Minimises |X b - y|², X given by its `rows`, which all have the same length.
///
/// Gram and Schmidt's method with each projection made twice ("twice is enough", Kahan), so that
/// the columns are orthogonal to working precision.
///
/// # Errors
/// The first column that is a sum of multiples of those before it.
pub(crate) fn solve(rows: &[Vec<f64>], y: &[f64]) -> Result<LeastSquares, usize> {
    let columns = rows.first().map_or(0, Vec::len);
    let mut orthonormal: Vec<Vec<f64>> = Vec::with_capacity(columns);
    let mut triangle = vec![vec![0.0; columns]; columns];
    for column in 0..columns {
        let mut rest: Vec<f64> = rows.iter().map(|row| row[column]).collect();
        let length = norm(&rest);
        for (j, part) in project_out(&mut rest, &orthonormal).into_iter().enumerate() {
            triangle[j][column] = part;
        }
        let left = norm(&rest);
        if left <= DEPENDENT * length || length == 0.0 {
            return Err(column);
        }
        triangle[column][column] = left;
        rest.iter_mut().for_each(|value| *value /= left);
        orthonormal.push(rest);
    }
    let mut residuals = y.to_vec();
    let projections = project_out(&mut residuals, &orthonormal);
    let inverse = invert_upper(&triangle);
    let times = |row: &Vec<f64>, other: &[f64]| dot(row, other);
    Ok(LeastSquares {
        coefficients: inverse.iter().map(|row| times(row, &projections)).collect(),
        unscaled_covariance: inverse
            .iter()
            .map(|row| inverse.iter().map(|other| times(row, other)).collect())
            .collect(),
        residual_ss: dot(&residuals, &residuals),
        residual_df: rows.len() - columns,
    })
}

/// cᵀ M c.
pub(crate) fn quadratic_form(matrix: &[Vec<f64>], c: &[f64]) -> f64 {
    matrix.iter().zip(c).map(|(row, weight)| weight * dot(row, c)).sum()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Takes from `vector` its parts along the `orthonormal` vectors and returns them.
fn project_out(vector: &mut [f64], orthonormal: &[Vec<f64>]) -> Vec<f64> {
    let mut parts = vec![0.0; orthonormal.len()];
    for _ in 0..2 {
        for (unit, part) in orthonormal.iter().zip(&mut parts) {
            let along = dot(unit, vector);
            *part += along;
            vector.iter_mut().zip(unit).for_each(|(value, unit)| *value -= along * unit);
        }
    }
    parts
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// Inverse of an upper triangular matrix, by back substitution.
fn invert_upper(triangle: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let size = triangle.len();
    let mut inverse = vec![vec![0.0; size]; size];
    for column in 0..size {
        inverse[column][column] = 1.0 / triangle[column][column];
        for row in (0..column).rev() {
            let sum: f64 = (row + 1..=column).map(|k| triangle[row][k] * inverse[k][column]).sum();
            inverse[row][column] = -sum / triangle[row][row];
        }
    }
    inverse
}
