//! Student's t distribution.

use statrs::function::beta::{beta_reg, ln_beta};

/// P(|T| ≥ |t|) for T with `df` > 0 degrees of freedom: the regularised incomplete beta function
/// I(df / 2, 1/2) at df / (df + t²) (Abramowitz and Stegun 26.7.1).
pub(crate) fn two_sided_p(t: f64, df: f64) -> f64 {
    beta_reg(df / 2.0, 0.5, df / (df + t * t))
}

/// P(T ≥ t).
pub(crate) fn upper_tail(t: f64, df: f64) -> f64 {
    let half = two_sided_p(t, df) / 2.0;
    if t >= 0.0 { half } else { 1.0 - half }
}

/// The t ≥ 0 with P(|T| ≥ t) = `p`, 0 < p < 1.
///
/// Newton's method from 0: the tail is convex and falls for t > 0, so every step stops short of the
/// root and the steps end when rounding does.
pub(crate) fn critical(p: f64, df: f64) -> f64 {
    let ln_scale = ln_beta(df / 2.0, 0.5) + df.ln() / 2.0;
    let density = |t: f64| (-(df + 1.0) / 2.0 * (t * t / df).ln_1p() - ln_scale).exp();
    let mut t = 0.0_f64;
    loop {
        let next = t + (two_sided_p(t, df) - p) / (2.0 * density(t));
        let advanced = next > t * (1.0 + 1e-15);
        if !advanced || !next.is_finite() {
            return t;
        }
        t = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_two_degrees_have_closed_forms() {
        for p in [1e-9_f64, 1e-3, 0.05, 0.2, 0.5, 0.9] {
            // Cauchy: P(|T| ≥ t) = 1 - 2 atan(t) / π; two degrees: 1 - t / sqrt(2 + t²).
            let cauchy = 1.0 / (std::f64::consts::FRAC_PI_2 * p).tan();
            assert!((critical(p, 1.0) / cauchy - 1.0).abs() < 1e-10, "{p}");
            let kept = 1.0 - p;
            let two = kept * (2.0 / (p * (2.0 - p))).sqrt();
            assert!((critical(p, 2.0) / two - 1.0).abs() < 1e-10, "{p}");
        }
    }

    #[test]
    fn quantile_and_tail_invert_each_other() {
        for df in [1.0, 3.08, 9.0, 38.0, 1e3, 1e6] {
            for p in [1e-12, 2e-4, 0.05, 0.4, 0.99] {
                let t = critical(p, df);
                // The logarithms of gamma behind it lose digits as the degrees grow.
                let tolerance = if df < 1e4 { 1e-9 } else { 1e-6 };
                assert!((two_sided_p(t, df) / p - 1.0).abs() < tolerance, "{df} {p} {t}");
                assert!((upper_tail(t, df) + upper_tail(-t, df) - 1.0).abs() < 1e-12);
            }
        }
        assert_eq!(two_sided_p(f64::INFINITY, 3.0), 0.0);
        assert_eq!(two_sided_p(0.0, 3.0), 1.0);
    }
}
