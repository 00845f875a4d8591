//! Tails and quantiles that keep their digits for small p and many degrees of freedom.

use statrs::function::beta::{beta_reg, checked_beta_reg, ln_beta};
use statrs::function::erf::erfc;

/// Standard normal distribution function.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

/// P(|T| ≥ |t|) for T with `df` > 0 degrees of freedom: the regularised incomplete beta function
/// I(df / 2, 1/2) at df / (df + t²) (Abramowitz and Stegun 26.7.1).
pub(crate) fn t_two_sided_p(t: f64, df: f64) -> f64 {
    beta_reg(df / 2.0, 0.5, df / (df + t * t))
}

/// P(T ≥ t).
pub(crate) fn t_upper_tail(t: f64, df: f64) -> f64 {
    let half = t_two_sided_p(t, df) / 2.0;
    if t >= 0.0 { half } else { 1.0 - half }
}

/// The t ≥ 0 with P(|T| ≥ t) = `p`, 0 < p < 1.
///
/// Newton's method from 0: the tail is convex and falls for t > 0, so every step stops short of
/// the root, and rounding ends the steps.
pub(crate) fn t_critical(p: f64, df: f64) -> f64 {
    let ln_scale = ln_beta(df / 2.0, 0.5) + df.ln() / 2.0;
    let density = |t: f64| (-(df + 1.0) / 2.0 * (t * t / df).ln_1p() - ln_scale).exp();
    let mut t = 0.0_f64;
    loop {
        let next = t + (t_two_sided_p(t, df) - p) / (2.0 * density(t));
        let advanced = next > t * (1.0 + 1e-15);
        if !advanced || !next.is_finite() {
            return t;
        }
        t = next;
    }
}

/// P(F > `f`) with `df1` and `df2` degrees of freedom; `None` unless all are positive and finite:
/// I_x(d2/2, d1/2) at x = d2 / (d2 + d1 f) (Abramowitz and Stegun 26.6.2), precise for small p.
pub(crate) fn f_tail(f: f64, df1: f64, df2: f64) -> Option<f64> {
    if !(f >= 0.0 && f.is_finite() && df1 > 0.0 && df2 > 0.0) {
        return None;
    }
    if f == 0.0 {
        return Some(1.0);
    }
    checked_beta_reg(df2 / 2.0, df1 / 2.0, df2 / (df2 + df1 * f)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_two_degrees_have_closed_forms() {
        for p in [1e-9_f64, 1e-3, 0.05, 0.2, 0.5, 0.9] {
            // Cauchy: P(|T| ≥ t) = 1 - 2 atan(t) / π; two degrees: 1 - t / sqrt(2 + t²).
            let cauchy = 1.0 / (std::f64::consts::FRAC_PI_2 * p).tan();
            assert!((t_critical(p, 1.0) / cauchy - 1.0).abs() < 1e-10, "{p}");
            let kept = 1.0 - p;
            let two = kept * (2.0 / (p * (2.0 - p))).sqrt();
            assert!((t_critical(p, 2.0) / two - 1.0).abs() < 1e-10, "{p}");
        }
    }

    #[test]
    fn quantile_and_tail_invert_each_other() {
        for df in [1.0, 3.08, 9.0, 38.0, 1e3, 1e6] {
            for p in [1e-12, 2e-4, 0.05, 0.4, 0.99] {
                let t = t_critical(p, df);
                // The logarithms of gamma behind it lose digits as the degrees grow.
                let tolerance = if df < 1e4 { 1e-9 } else { 1e-6 };
                assert!((t_two_sided_p(t, df) / p - 1.0).abs() < tolerance, "{df} {p} {t}");
                assert!((t_upper_tail(t, df) + t_upper_tail(-t, df) - 1.0).abs() < 1e-12);
            }
        }
        assert_eq!(t_two_sided_p(f64::INFINITY, 3.0), 0.0);
        assert_eq!(t_two_sided_p(0.0, 3.0), 1.0);
    }

    /// From SciPy 1.17: `f.sf`.
    #[test]
    fn tails_agree_with_scipy() {
        for (f, df1, df2, expected) in [
            (40.57, 1.0, 8.0, 2.160_629_374_678_122e-4),
            (34.48, 2.0, 12.0, 1.060_387_206_383_588_1e-5),
            (22_641.7, 1.0, 12.0, 4.984_978_011_371_463_5e-21),
            (0.5, 3.0, 2.0, 0.719_434_141_125_152_7),
        ] {
            let found = f_tail(f, df1, df2).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
        }
    }
}
