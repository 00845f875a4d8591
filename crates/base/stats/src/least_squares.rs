//! Ordinary least squares for small dense problems, by orthogonalising the columns.

/// A column depends on earlier ones when less than this share of its length is left.
const DEPENDENT: f64 = 1e-9;

/// The n rows and p columns of a problem, orthogonalised once for all responses: X = Q R.
pub(crate) struct Design {
    /// The columns of Q.
    orthonormal: Vec<Vec<f64>>,
    inverse: Vec<Vec<f64>>,
    /// (XᵀX)⁻¹: times the residual variance it is the covariance of the coefficients.
    pub unscaled_covariance: Vec<Vec<f64>>,
    /// n - p.
    pub residual_df: usize,
}

/// The fit of a design to a response.
pub(crate) struct LeastSquares {
    /// One coefficient a column.
    pub coefficients: Vec<f64>,
    /// Qᵀy: the response along each column of Q.
    projections: Vec<f64>,
    /// Sum of squared residuals.
    pub residual_ss: f64,
}

impl Design {
    /// From the rows of X. The error is the first column that depends on earlier ones.
    pub(crate) fn new(rows: &[Vec<f64>]) -> Result<Design, usize> {
        let columns = rows.first().map_or(0, Vec::len);
        let column = |column: usize| rows.iter().map(|row| row[column]).collect();
        let Orthonormal { vectors: orthonormal, triangle } =
            orthonormalised((0..columns).map(column))?;
        let inverse = invert_upper(&triangle);
        let times = |row: &Vec<f64>| inverse.iter().map(|other| dot(row, other)).collect();
        let unscaled_covariance = inverse.iter().map(times).collect();
        let residual_df = rows.len() - columns;
        Ok(Design { orthonormal, inverse, unscaled_covariance, residual_df })
    }

    /// Minimises |X b - y|².
    pub(crate) fn solve(&self, y: &[f64]) -> LeastSquares {
        let mut residuals = y.to_vec();
        let projections = project_out(&mut residuals, &self.orthonormal);
        LeastSquares {
            coefficients: self.inverse.iter().map(|row| dot(row, &projections)).collect(),
            residual_ss: dot(&residuals, &residuals),
            projections,
        }
    }

    /// The directions of `columns` for [`LeastSquares::extra_ss`]. Errors as of [`Design::new`].
    pub(crate) fn directions(&self, columns: &[usize]) -> Result<Vec<Vec<f64>>, usize> {
        let rows = columns.iter().map(|column| self.inverse[*column].clone());
        Ok(orthonormalised(rows).map_err(|nth| columns[nth])?.vectors)
    }
}

impl LeastSquares {
    /// Increase of the residual sum of squares without these columns: βₛᵀ (Cₛₛ)⁻¹ βₛ with βₛ their
    /// coefficients and Cₛₛ their part of (XᵀX)⁻¹ (Seber and Lee, *Linear Regression Analysis*,
    /// 2003, theorem 4.1). With A the columns' rows of R⁻¹ and z = Qᵀy, βₛ is A z and Cₛₛ is A Aᵀ,
    /// so this is the squared length of z within the span of A's rows.
    pub(crate) fn extra_ss(&self, of: &[Vec<f64>]) -> f64 {
        of.iter().map(|direction| dot(direction, &self.projections).powi(2)).sum()
    }
}

/// cᵀ M c.
pub(crate) fn quadratic_form(matrix: &[Vec<f64>], c: &[f64]) -> f64 {
    matrix.iter().zip(c).map(|(row, weight)| weight * dot(row, c)).sum()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Orthonormal vectors, and the coordinates of the given ones.
struct Orthonormal {
    vectors: Vec<Vec<f64>>,
    /// The columns of an upper triangle, down to its diagonal.
    triangle: Vec<Vec<f64>>,
}

/// Gram and Schmidt's method with each projection done twice ("twice is enough", Kahan). The error
/// is the index of the first vector that depends on earlier ones.
fn orthonormalised(vectors: impl Iterator<Item = Vec<f64>>) -> Result<Orthonormal, usize> {
    let mut orthonormal: Vec<Vec<f64>> = Vec::new();
    let mut triangle = Vec::new();
    for (index, mut rest) in vectors.enumerate() {
        let length = norm(&rest);
        let mut parts = project_out(&mut rest, &orthonormal);
        let left = norm(&rest);
        if left <= DEPENDENT * length || length == 0.0 {
            return Err(index);
        }
        parts.push(left);
        triangle.push(parts);
        rest.iter_mut().for_each(|value| *value /= left);
        orthonormal.push(rest);
    }
    Ok(Orthonormal { vectors: orthonormal, triangle })
}

/// Removes from `vector` its parts along the `orthonormal` vectors and returns them.
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

/// Rows of the inverse of an upper triangle, given by its columns, by back substitution.
fn invert_upper(columns: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let size = columns.len();
    let mut inverse = vec![vec![0.0; size]; size];
    for column in 0..size {
        inverse[column][column] = 1.0 / columns[column][column];
        for row in (0..column).rev() {
            let sum: f64 = (row + 1..=column).map(|k| columns[k][row] * inverse[k][column]).sum();
            inverse[row][column] = -sum / columns[row][row];
        }
    }
    inverse
}
