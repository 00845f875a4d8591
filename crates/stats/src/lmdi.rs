//! A change of a sum of products, broken down into the factors of the products: faults are
//! commands × faults per command, time is faults × time per fault.

/// Contribution of each factor to the change of Σ Π x, by the logarithmic mean Divisia index
/// (LMDI-I, additive; Ang 2005, *Energy Policy* 33).
///
/// `before` and `after` have a row for each part and in it a value for each factor, none negative.
/// Factor j brings Σ L(v1, v0) ln(x1j / x0j), with v the product of a row and L(a, b) =
/// (a - b) / ln(a / b), L(a, a) = a. The contributions add up to the change.
///
/// A zero is the limit of the formula for values that go to zero together (Wood and Lenzen 2006):
/// a row that appears or vanishes brings all of itself by the factors that were or became zero,
/// equally if there are several; a row that is zero on both sides brings nothing.
///
/// It is not Shapley's value of the same product: name the method where it is printed.
///
/// # Errors
/// `None` when rows differ in number or length, there are none, or a value is negative or not
/// finite.
#[must_use]
pub fn lmdi(before: &[Vec<f64>], after: &[Vec<f64>]) -> Option<Vec<f64>> {
    let factors = before.first()?.len();
    let rows = || before.iter().chain(after);
    let fits = |row: &Vec<f64>| {
        row.len() == factors && row.iter().all(|value| *value >= 0.0 && value.is_finite())
    };
    if before.len() != after.len() || !rows().all(fits) {
        return None;
    }
    let mut contributions = vec![0.0; factors];
    for (before, after) in before.iter().zip(after) {
        let (v0, v1): (f64, f64) = (before.iter().product(), after.iter().product());
        let zero_side = match (v0 > 0.0, v1 > 0.0) {
            (true, true) => None,
            (false, _) => Some(before),
            (true, false) => Some(after),
        };
        for (factor, sum) in contributions.iter_mut().enumerate() {
            *sum += match zero_side {
                None => logarithmic_mean(v1, v0) * (after[factor] / before[factor]).ln(),
                Some(row) if row[factor] == 0.0 => {
                    (v1 - v0) / row.iter().filter(|value| **value == 0.0).count() as f64
                }
                Some(_) => 0.0,
            };
        }
    }
    Some(contributions)
}

fn logarithmic_mean(a: f64, b: f64) -> f64 {
    if a == b { a } else { (a - b) / ((a - b) / b).ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand: L(12, 2) = 10 / ln 6; factors doubled and tripled.
    #[test]
    fn a_product_is_shared_by_logarithms() {
        let found = lmdi(&[vec![1.0, 2.0]], &[vec![2.0, 6.0]]).unwrap();
        let share = 10.0 * 2.0_f64.ln() / 6.0_f64.ln();
        assert!((found[0] - share).abs() < 1e-12);
        assert!((found[1] - (10.0 - share)).abs() < 1e-12);
    }

    /// The limit is what small values approach, slowly: errors fall with 1 / ln.
    #[test]
    fn zeros_are_the_limit_of_small_values() {
        assert_eq!(lmdi(&[vec![0.0, 5.0]], &[vec![3.0, 4.0]]), Some(vec![12.0, 0.0]));
        assert_eq!(lmdi(&[vec![3.0, 4.0]], &[vec![0.0, 0.0]]), Some(vec![-6.0, -6.0]));
        assert_eq!(lmdi(&[vec![0.0, 4.0]], &[vec![3.0, 0.0]]), Some(vec![0.0, 0.0]));
        let near = lmdi(&[vec![1e-300, 5.0]], &[vec![3.0, 4.0]]).unwrap();
        assert!((near[0] - 12.0).abs() < 0.01, "{near:?}");
    }

    #[test]
    fn what_has_no_logarithm_or_shape_is_none() {
        assert_eq!(lmdi(&[], &[]), None);
        assert_eq!(lmdi(&[vec![1.0]], &[vec![1.0, 2.0]]), None);
        assert_eq!(lmdi(&[vec![1.0]], &[vec![-1.0]]), None);
    }

    proptest! {
        #[test]
        fn contributions_add_up_to_the_change(
            rows in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![Just(0.0), 1e-3..1e3_f64], 6), 1..5)
        ) {
            let half = |from: usize| -> Vec<Vec<f64>> {
                rows.iter().map(|row| row[from..from + 3].to_vec()).collect()
            };
            let total = |rows: &[Vec<f64>]| -> f64 {
                rows.iter().map(|row| row.iter().product::<f64>()).sum()
            };
            let (before, after) = (half(0), half(3));
            let sum: f64 = lmdi(&before, &after).unwrap().iter().sum();
            let scale = total(&before) + total(&after);
            prop_assert!((sum - (total(&after) - total(&before))).abs() <= 1e-10 * scale);
        }
    }
}
