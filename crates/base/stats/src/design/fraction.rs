//! Two-level fractional factorials: fewer runs, and effects that are aliased.

use std::collections::BTreeSet;

use itertools::Itertools;

use crate::{Refused, refused};

/// Effects that a fraction keeps apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resolution {
    /// No main effect is aliased with another or with an interaction of two factors.
    Four,
    /// Nor are interactions of two factors aliased with each other.
    Five,
}

/// A fraction of a 2^k design with its aliases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FractionalFactorial {
    /// Number of factors of the shortest product that is constant in all runs.
    pub resolution: usize,
    /// Each main effect and interaction of two factors, with all its aliases, shortest first.
    pub aliases: Vec<(Vec<usize>, Vec<Vec<usize>>)>,
    /// The runs: a level of 0 or 1 for each factor.
    pub cells: Vec<Vec<usize>>,
}

/// The smallest two-level fraction for 5 to 8 `factors` with at least `resolution`.
///
/// Generators (factors whose level is a product of others') are those of minimum aberration in Box,
/// Hunter and Hunter, *Statistics for Experimenters*, table 6.22, and the NIST/SEMATECH handbook,
/// 5.3.3.4.7. The defining relation is all their products; the aliases of an effect are its
/// products with it (a factor twice in a product is gone). Fails for another number of factors.
pub fn two_level_fraction(
    factors: usize,
    resolution: Resolution,
) -> Result<FractionalFactorial, Refused> {
    let generators: &[(usize, &[usize])] = match (factors, resolution) {
        (5, _) => &[(4, &[0, 1, 2, 3])],
        (6, Resolution::Four) => &[(4, &[0, 1, 2]), (5, &[1, 2, 3])],
        (6, Resolution::Five) => &[(5, &[0, 1, 2, 3, 4])],
        (7, Resolution::Four) => &[(4, &[0, 1, 2]), (5, &[1, 2, 3]), (6, &[0, 2, 3])],
        (7, Resolution::Five) => &[(6, &[0, 1, 2, 3, 4, 5])],
        (8, Resolution::Four) => {
            &[(4, &[1, 2, 3]), (5, &[0, 2, 3]), (6, &[0, 1, 2]), (7, &[0, 1, 3])]
        }
        (8, Resolution::Five) => &[(6, &[0, 1, 2, 3]), (7, &[0, 1, 4, 5])],
        _ => {
            return refused(format!(
                "no fraction for {factors} factors: fractions are for 5 to 8; use the full \
                 factorial below"
            ));
        }
    };
    let words = defining_words(generators);
    let effects = (1..1 << factors).filter(|effect: &u32| effect.count_ones() <= 2);
    let products = |effect: u32| words.iter().map(move |word| word ^ effect);
    let aliases = |effect: u32| by_length(products(effect)).map(members).collect();
    Ok(FractionalFactorial {
        resolution: words.iter().map(|word| word.count_ones()).min().unwrap_or(0) as usize,
        aliases: by_length(effects).map(|effect| (members(effect), aliases(effect))).collect(),
        cells: cells(factors, generators),
    })
}

/// Bit f of a word stands for factor f; the product of two words is their exclusive or.
fn defining_words(generators: &[(usize, &[usize])]) -> BTreeSet<u32> {
    let mut words = BTreeSet::from([0]);
    for (generated, by) in generators {
        let word = by.iter().fold(1 << generated, |word, factor| word | 1 << factor);
        let products: Vec<u32> = words.iter().map(|other| other ^ word).collect();
        words.extend(products);
    }
    words.remove(&0);
    words
}

/// With levels 0 and 1 for -1 and +1, a product is +1 when the number of zeros is even.
fn cells(factors: usize, generators: &[(usize, &[usize])]) -> Vec<Vec<usize>> {
    let mut cells = super::full_factorial(&vec![2; factors - generators.len()]);
    for cell in &mut cells {
        for (_, by) in generators {
            let zeros = by.iter().filter(|factor| cell[**factor] == 0).count();
            cell.push(usize::from(zeros % 2 == 0));
        }
    }
    cells
}

fn by_length(effects: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    effects.sorted_unstable_by_key(|effect| (effect.count_ones(), members(*effect)))
}

fn members(effect: u32) -> Vec<usize> {
    (0..32).filter(|factor| effect >> factor & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = (Resolution, FractionalFactorial)> {
        let both = [Resolution::Four, Resolution::Five];
        (5..=8).flat_map(move |k| both.map(|r| (r, two_level_fraction(k, r).unwrap())))
    }

    #[test]
    fn sizes_and_resolutions_are_those_of_the_handbook() {
        let found: Vec<_> =
            all().map(|(_, d)| (d.cells[0].len(), d.cells.len(), d.resolution)).collect();
        let handbook = [
            (5, 16, 5),
            (5, 16, 5),
            (6, 16, 4),
            (6, 32, 6),
            (7, 16, 4),
            (7, 64, 7),
            (8, 16, 4),
            (8, 64, 5),
        ];
        assert_eq!(found, handbook);
    }

    /// The promise is checked on the runs themselves: the columns of clear effects are orthogonal.
    #[test]
    fn clear_effects_are_orthogonal_and_aliases_are_equal_columns() {
        for (requested, design) in all() {
            let column = |effect: &[usize]| -> Vec<i32> {
                let sign = |cell: &Vec<usize>| {
                    effect.iter().map(|factor| 2 * cell[*factor] as i32 - 1).product()
                };
                design.cells.iter().map(sign).collect()
            };
            let product = |a: &[usize], b: &[usize]| -> i32 {
                column(a).iter().zip(column(b)).map(|(x, y)| x * y).sum()
            };
            let runs = design.cells.len() as i32;
            for (effect, aliases) in &design.aliases {
                assert!(aliases.iter().all(|alias| product(effect, alias) == runs));
                for (other, _) in design.aliases.iter().filter(|(other, _)| other != effect) {
                    let clear = effect.len() == 1 || requested == Resolution::Five;
                    assert!(!clear || product(effect, other) == 0, "{effect:?} {other:?}");
                    assert!(!clear || !aliases.contains(other));
                }
            }
        }
    }

    #[test]
    fn aliases_in_the_quarter_of_six_factors() {
        let design = two_level_fraction(6, Resolution::Four).unwrap();
        let (effect, aliases) = &design.aliases[6];
        assert_eq!(effect, &[0, 1]);
        assert_eq!(aliases, &[vec![2, 4], vec![0, 2, 3, 5], vec![1, 3, 4, 5]]);
    }

    #[test]
    fn other_numbers_of_factors_are_refused() {
        assert!(two_level_fraction(4, Resolution::Four).is_err());
        assert!(two_level_fraction(9, Resolution::Five).is_err());
    }
}
