//! A change of a total by its parts: the share of each is its change over that of the total.

use crate::mean;

/// One part with its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct PartTrials {
    /// Its printed name.
    pub name: String,
    /// Values before, one for each trial; trial i of all parts is the same run.
    pub before: Vec<f64>,
    /// Values after, in the same unit.
    pub after: Vec<f64>,
}

/// The change of one part.
#[derive(Clone, Debug, PartialEq)]
pub struct PartChange {
    /// Name of the part.
    pub name: String,
    /// Mean over trials.
    pub before: f64,
    /// Mean over trials.
    pub after: f64,
    /// Share of the total's change, negative when against it; absent without a change.
    pub share: Option<f64>,
    /// Smallest and largest share over all pairs of trials before and after. Absent if parts
    /// differ in number of trials, or the total does not change one way in all pairs.
    pub share_bounds: Option<(f64, f64)>,
}

/// The changes of the parts, the largest first; `None` without finite trials on both sides.
pub fn breakdown(parts: &[PartTrials]) -> Option<Vec<PartChange>> {
    let change = |part: &PartTrials| {
        let (before, after) = mean(&part.before).zip(mean(&part.after))?;
        let name = part.name.clone();
        Some(PartChange { name, before, after, share: None, share_bounds: None })
    };
    let mut changes: Vec<PartChange> = parts.iter().map(change).collect::<Option<_>>()?;
    let total: f64 = changes.iter().map(PartChange::delta).sum();
    let pairs = if total == 0.0 { None } else { totals_of_pairs(parts) };
    for (part, change) in parts.iter().zip(&mut changes) {
        change.share = (total != 0.0).then(|| change.delta() / total);
        change.share_bounds = pairs.as_ref().map(|totals| bounds(part, totals));
    }
    changes.sort_by(|a, b| b.delta().abs().total_cmp(&a.delta().abs()));
    Some(changes)
}

impl PartChange {
    fn delta(&self) -> f64 {
        self.after - self.before
    }
}

/// The total's change for each pair of trials, before by after.
fn totals_of_pairs(parts: &[PartTrials]) -> Option<Vec<Vec<f64>>> {
    let trials = |part: &PartTrials| (part.before.len(), part.after.len());
    let (before, after) = trials(parts.first()?);
    if parts.iter().any(|part| trials(part) != (before, after)) {
        return None;
    }
    let total = |i: usize, j: usize| parts.iter().map(|part| part.after[j] - part.before[i]).sum();
    let totals: Vec<Vec<f64>> =
        (0..before).map(|i| (0..after).map(|j| total(i, j)).collect()).collect();
    let all = || totals.iter().flatten();
    // Where the total's change passes through zero, shares have no bounds.
    let one_way = all().all(|total| *total > 0.0) || all().all(|total| *total < 0.0);
    one_way.then_some(totals)
}

fn bounds(part: &PartTrials, totals: &[Vec<f64>]) -> (f64, f64) {
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    for (before, row) in part.before.iter().zip(totals) {
        for (after, total) in part.after.iter().zip(row) {
            let share = (after - before) / total;
            range = (range.0.min(share), range.1.max(share));
        }
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, before: &[f64], after: &[f64]) -> PartTrials {
        PartTrials { name: name.to_owned(), before: before.to_vec(), after: after.to_vec() }
    }

    /// Hunt's experiment 3 (1973): page faults by command, system 17.11 and system 18.9. By hand:
    /// changes 11651, 7396.5 and 810.5 of 19858.
    #[test]
    fn two_commands_bring_nearly_all_of_hunts_page_faults() {
        let found = breakdown(&[
            part("other", &[5375.0, 5334.0], &[6452.0, 5878.0]),
            part("pl1 list", &[6622.0, 6597.0], &[18205.0, 18316.0]),
            part("pl1 dprint", &[2915.0, 2737.0], &[10465.0, 9980.0]),
        ])
        .unwrap();
        let lines: Vec<String> = found
            .iter()
            .map(|part| {
                let (low, high) = part.share_bounds.unwrap();
                let share = part.share.unwrap();
                format!("{} {} {share:.4} [{low:.4}, {high:.4}]", part.name, part.delta())
            })
            .collect();
        // Bounds by hand: list 11608/20454 to 11694/19262; dprint 7065/19262 to 7728/20454.
        let expected = [
            "pl1 list 11651 0.5867 [0.5675, 0.6071]",
            "pl1 dprint 7396.5 0.3725 [0.3668, 0.3778]",
            "other 810.5 0.0408 [0.0261, 0.0547]",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_part_against_the_total_has_a_negative_share() {
        let found = breakdown(&[part("a", &[1.0], &[5.0]), part("b", &[3.0], &[2.0])]).unwrap();
        assert_eq!(found[1].delta(), -1.0);
        assert_eq!(found[1].share, Some(-1.0 / 3.0));
        assert_eq!(found[0].share, Some(4.0 / 3.0));
    }

    #[test]
    fn what_has_no_share_or_bounds_is_none() {
        let still = breakdown(&[part("a", &[1.0], &[2.0]), part("b", &[2.0], &[1.0])]).unwrap();
        assert!(still.iter().all(|part| part.share.is_none() && part.share_bounds.is_none()));
        let unequal =
            breakdown(&[part("a", &[1.0], &[2.0]), part("b", &[2.0, 2.0], &[3.0])]).unwrap();
        assert_eq!(unequal[0].share_bounds, None);
        assert_eq!(unequal[0].share, Some(0.5));
        let unsure = breakdown(&[part("a", &[1.0, 3.0], &[2.0, 3.5])]).unwrap();
        assert_eq!(unsure[0].share_bounds, None);
        assert_eq!(breakdown(&[]), Some(Vec::new()));
        assert_eq!(breakdown(&[part("a", &[], &[1.0])]), None);
    }
}
