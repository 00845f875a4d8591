//! Fisher's exact test of two proportions.

/// Two-sided p-value of Fisher's (1934) exact test that something happens as often in both of two
/// groups, which is `hits` times in so many trials of each: (stalls, responses), say.
///
/// It is the probability, given the total of hits, of all tables that are no more likely than the
/// one observed; the same rule as R's `fisher.test` and SciPy's, with their tolerance of 1e-7 for
/// tables that are as likely but for rounding.
///
/// `None` when a group has no trials or more hits than trials, or both together have more than
/// 2^53 trials.
pub fn fisher_exact_p(first: (u64, u64), second: (u64, u64)) -> Option<f64> {
    let ((hits, trials), (other_hits, other_trials)) = (first, second);
    let all = trials.checked_add(other_trials).filter(|all| *all <= 1 << 53)?;
    if trials == 0 || other_trials == 0 || hits > trials || other_hits > other_trials {
        return None;
    }
    let total_hits = hits + other_hits;
    let least = total_hits.saturating_sub(other_trials);
    let most = total_hits.min(trials);
    // Weight of k + 1 hits in the first group over that of k hits (hypergeometric).
    let step = |k: u64| {
        let up = (total_hits - k) as f64 * (trials - k) as f64;
        up / ((k + 1) as f64 * (other_trials + k + 1 - total_hits) as f64)
    };
    let mode = (total_hits as f64 + 1.0) * (trials as f64 + 1.0) / (all as f64 + 2.0);
    let mode = (mode as u64).clamp(least, most);
    // Weights relative to about the likeliest, so that nothing overflows.
    let upwards = (mode..most).scan(1.0, |weight, k| {
        *weight *= step(k);
        Some((k + 1, *weight))
    });
    let downwards = (least..mode).rev().scan(1.0, |weight, k| {
        *weight /= step(k);
        Some((k, *weight))
    });
    let weights: Vec<(u64, f64)> = upwards.chain(downwards).chain([(mode, 1.0)]).collect();
    let observed = weights.iter().find(|(k, _)| *k == hits)?.1;
    let sum = |limit: f64| -> f64 {
        weights.iter().map(|(_, weight)| *weight).filter(|weight| *weight <= limit).sum()
    };
    Some((sum(observed * (1.0 + 1e-7)) / sum(f64::INFINITY)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lady_tasting_tea() {
        // Fisher 1935: three of four cups told right: 17/70 in the tail, both tails 34/70.
        let p = fisher_exact_p((3, 4), (1, 4)).unwrap();
        assert!((p - 34.0 / 70.0).abs() < 1e-15);
        let p = fisher_exact_p((4, 4), (0, 4)).unwrap();
        assert!((p - 2.0 / 70.0).abs() < 1e-15);
    }

    #[test]
    fn nothing_or_all_is_no_evidence() {
        assert_eq!(fisher_exact_p((0, 9), (0, 5)), Some(1.0));
        assert_eq!(fisher_exact_p((9, 9), (5, 5)), Some(1.0));
    }

    #[test]
    fn what_is_no_table_is_none() {
        assert_eq!(fisher_exact_p((0, 0), (1, 2)), None);
        assert_eq!(fisher_exact_p((3, 2), (1, 2)), None);
        assert_eq!(fisher_exact_p((3, u64::MAX), (1, 2)), None);
    }
}
