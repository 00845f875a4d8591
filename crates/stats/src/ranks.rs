//! Ranks of two samples put together, ties sharing the middle of their ranks.

/// Midranks of two samples put together.
pub(crate) struct MidRanks {
    /// Twice the midrank of every value from low to high: twice, so that halves are whole.
    pub(crate) doubled: Vec<u64>,
    /// Sum of `doubled` over the first sample.
    pub(crate) first_doubled_sum: u64,
    /// Sizes of the groups of equal values larger than one.
    pub(crate) ties: Vec<u64>,
}

impl MidRanks {
    /// Ranks finite values; 0 and -0 are equal.
    pub(crate) fn new(first: &[f64], second: &[f64]) -> Self {
        let mut values: Vec<(f64, bool)> = first.iter().map(|value| (*value, true)).collect();
        values.extend(second.iter().map(|value| (*value, false)));
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut ranks =
            Self { doubled: Vec::with_capacity(values.len()), first_doubled_sum: 0, ties: vec![] };
        for group in values.chunk_by(|a, b| a.0 == b.0) {
            let before = ranks.doubled.len() as u64;
            let size = group.len() as u64;
            let doubled = 2 * before + size + 1;
            ranks.doubled.extend(std::iter::repeat_n(doubled, group.len()));
            let of_first = group.iter().filter(|(_, is_first)| *is_first).count() as u64;
            ranks.first_doubled_sum += doubled * of_first;
            if size > 1 {
                ranks.ties.push(size);
            }
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_the_middle_of_their_ranks() {
        let ranks = MidRanks::new(&[1.0, 2.0], &[2.0, 3.0, 2.0]);
        assert_eq!(ranks.doubled, [2, 6, 6, 6, 10]);
        assert_eq!(ranks.first_doubled_sum, 8);
        assert_eq!(ranks.ties, [3]);
        assert_eq!(MidRanks::new(&[0.0], &[-0.0]).ties, [2]);
    }
}
