//! Designs of experiments: which combinations of levels, and in which order.

mod fraction;
mod order;

pub use fraction::{FractionalFactorial, Resolution, two_level_fraction};
pub(crate) use order::below;
pub use order::{abba, randomised_blocks};

/// All combinations of levels, given the number of levels of each factor; the last factor's level
/// changes first. No factor gives one empty combination.
pub fn full_factorial(level_counts: &[usize]) -> Vec<Vec<usize>> {
    level_counts.iter().fold(vec![Vec::new()], |cells, &levels| {
        let extended = |cell: Vec<usize>| {
            (0..levels).map(move |level| {
                let mut cell = cell.clone();
                cell.push(level);
                cell
            })
        };
        cells.into_iter().flat_map(extended).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_factor_changes_first() {
        let cells = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]];
        assert_eq!(full_factorial(&[2, 3]), cells);
    }
}
