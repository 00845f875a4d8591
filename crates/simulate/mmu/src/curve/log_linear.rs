//! Buckets for whole numbers: equal steps within each doubling, so of about one relative width.

/// The bucket of a value, with 2^`steps_log2` steps in a doubling.
pub(super) fn bucket(value: u64, steps_log2: u32) -> usize {
    match value.checked_ilog2() {
        Some(log2) if log2 > steps_log2 => {
            let shift = log2 - steps_log2;
            ((u64::from(shift) << steps_log2) + (value >> shift)) as usize
        }
        _ => value as usize,
    }
}

/// The lowest value of a bucket.
pub(super) fn lowest(bucket: usize, steps_log2: u32) -> u64 {
    let steps = 1_u64 << steps_log2;
    let bucket = bucket as u64;
    if bucket < 2 * steps {
        return bucket;
    }
    let shift = bucket / steps - 1;
    (bucket - shift * steps) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        for steps_log2 in [0, 2, 8] {
            let mut next = 0;
            for index in 0..20 << steps_log2 {
                assert_eq!(lowest(index, steps_log2), next, "{index} {steps_log2}");
                while bucket(next, steps_log2) == index {
                    next += 1;
                }
            }
        }
        assert_eq!(
            (8..14).map(|index| lowest(index, 2)).collect::<Vec<_>>(),
            [8, 10, 12, 14, 16, 20]
        );
    }
}
