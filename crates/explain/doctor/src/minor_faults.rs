//! Minor faults by purpose: the kernel counts them together, but their costs differ.

use crate::interval::{Change, Interval, Task};

/// Faults as a share of its memory below which a process does not copy it.
const COPYING_SHARE: f64 = 0.5;
/// Zones whose allocations the kernel counts.
const ZONES: [&str; 4] = ["dma", "dma32", "normal", "movable"];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MinorFaults {
    /// A page was allocated and cleared.
    pub(crate) first_touches: f64,
    /// A page was copied after a fork.
    pub(crate) copies: f64,
    /// A present page was mapped.
    pub(crate) maps: f64,
}

/// Splits the minor faults of a process. A fault without an allocation (charged to its group, or by
/// the machine) maps a page; allocations of a process that forks are copies of its memory.
pub(crate) fn split(interval: &Interval<'_>, task: &Task<'_>) -> Option<MinorFaults> {
    let faults = task.counters.grown("task_stat", "minflt")?;
    let taken = faults * taking_share(interval, task.group)?;
    let has_children = task.counters.grown("task_stat", "cminflt").is_some_and(|it| it > 0.0);
    let forks = interval.machine().grown("stat", "processes").unwrap_or(0.0);
    let copies = match anonymous_pages(interval, &task.counters) {
        // At most its whole memory for each fork of the machine.
        Some(pages) if has_children && taken >= COPYING_SHARE * pages => taken.min(forks * pages),
        _ => 0.0,
    };
    Some(MinorFaults { first_touches: taken - copies, copies, maps: faults - taken })
}

/// Pages of anonymous memory that a process holds at the end.
pub(crate) fn anonymous_pages(interval: &Interval<'_>, change: &Change<'_>) -> Option<f64> {
    let held_kb = change.level("task_status", "RssAnon_kb")?;
    Some(held_kb * 1024.0 / interval.page_bytes() as f64)
}

/// Share of faults that allocate a page.
fn taking_share(interval: &Interval<'_>, group: Option<&str>) -> Option<f64> {
    let share = |taken: f64, faults: f64| (faults > 0.0).then(|| (taken / faults).min(1.0));
    let of_group = interval.group(group).and_then(|change| {
        share(change.grown("memcg", "pgpgin")?, change.grown("memcg", "pgfault")?)
    });
    of_group.or_else(|| {
        let machine = interval.machine();
        let of_zone = |zone| machine.grown("vmstat", &format!("pgalloc_{zone}"));
        let taken: Vec<f64> = ZONES.into_iter().filter_map(of_zone).collect();
        let faults = machine.grown("vmstat", "pgfault")?;
        (!taken.is_empty()).then(|| share(taken.iter().sum(), faults).unwrap_or(1.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Second;

    const FAULTS: (&str, &str, u64) = ("task_stat", "minflt", 1000);

    fn of(second: &Second) -> Option<MinorFaults> {
        let interval = second.interval();
        split(&interval, &interval.tasks().next()?)
    }

    #[test]
    fn faults_are_first_touches_or_maps_by_the_pages_taken() {
        let machine =
            Second::of_machine(&[("vmstat", "pgfault", 4000), ("vmstat", "pgalloc_normal", 1000)]);
        let expected = MinorFaults { first_touches: 250.0, copies: 0.0, maps: 750.0 };
        assert_eq!(of(&machine.clone().with_task(1, None, &[FAULTS])), Some(expected));
        // Its own group knows better.
        let group = [("memcg", "pgfault", 1000), ("memcg", "pgpgin", 5000)];
        let grouped = machine.with_group("/a", &group).with_task(1, Some("/a"), &[FAULTS]);
        assert_eq!(of(&grouped).unwrap().first_touches, 1000.0);
    }

    #[test]
    fn who_forks_copies_as_far_as_the_forks_go() {
        let of_forks = |forks, more: &[(&'static str, &'static str, u64)]| {
            let mut values = vec![FAULTS, ("task_status", "RssAnon_kb", 1600)];
            values.extend(more);
            let machine = [
                ("vmstat", "pgfault", 9000),
                ("vmstat", "pgalloc_normal", 9000),
                ("stat", "processes", forks),
            ];
            of(&Second::of_machine(&machine).with_task(1, None, &values)).unwrap().copies
        };
        let child = ("task_stat", "cminflt", 7);
        assert_eq!(of_forks(2, &[child]), 800.0);
        assert_eq!(of_forks(9, &[child]), 1000.0);
        assert_eq!(of_forks(9, &[]), 0.0);
        assert_eq!(of_forks(9, &[child, ("task_status", "RssAnon_kb", 40_000)]), 0.0);
    }

    #[test]
    fn without_the_counters_nothing_is_said() {
        assert_eq!(of(&Second::of_machine(&[]).with_task(1, None, &[FAULTS])), None);
        assert_eq!(of(&Second::of_machine(&[]).with_task(1, None, &[])), None);
    }
}
