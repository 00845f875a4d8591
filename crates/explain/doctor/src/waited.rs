//! Who waited for disks and free memory in an interval: processes and control groups by their delays.

use serde::Serialize;

use crate::affected::affected;
use crate::{Interval, LostTime, Scope};

/// Delays that end when a page was read, written or freed, as they are named in `taskstats`
/// (`Documentation/accounting/delay-accounting.rst`).
const DELAYS: [&str; 4] = ["blkio", "swapin", "freepages", "compact"];

/// A process that waited, or several of one control group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Waited {
    /// The process or group.
    pub scope: Scope,
    /// The control group of a process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// How long it waited.
    #[serde(flatten)]
    pub lost: LostTime,
}

/// Who waited for 1 % of the time of its threads or longer, the longest first, without the kernel's own
/// threads. Processes of one group are summed. `None` if no delay was counted.
pub fn waited(interval: &Interval<'_>) -> Option<Vec<Waited>> {
    let all = affected(interval, |task| {
        let delays = task.counters.with_delays()?;
        let is_known = !delays.is_kernel_thread() && !delays.has_impossible_delays();
        is_known.then(|| DELAYS.iter().map(|name| delays.delay_ns(name)).sum())
    })?;
    let mut waited: Vec<Waited> = all
        .into_iter()
        .map(|it| {
            let group = it.group.filter(|_| matches!(it.scope, Scope::Process { .. }));
            Waited { scope: it.scope, group, lost: it.lost }
        })
        .collect();
    waited.sort_by_key(|it| std::cmp::Reverse(it.lost.lost_ns));
    Some(waited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Second;

    #[test]
    fn who_waited_longest_is_first_and_processes_of_a_group_are_summed() {
        let delays = |blkio_ns, reclaim_ns| {
            [
                ("taskstats", "blkio_delay_total_ns", blkio_ns),
                ("taskstats", "freepages_delay_total_ns", reclaim_ns),
            ]
        };
        let second = Second::bare()
            .with_task(11, Some("/alone"), &delays(500_000_000, 100_000_000))
            .with_task(12, Some("/both"), &delays(400_000_000, 0))
            .with_task(13, Some("/both"), &delays(300_000_000, 0))
            .with_task(14, Some("/idle"), &delays(1_000_000, 0));
        let found = waited(&second.interval()).unwrap();
        let [both, alone] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&both.scope, &both.group), (&Scope::Group("/both".to_owned()), &None));
        assert_eq!(both.lost.lost_ns, 700_000_000);
        assert!(matches!(alone.scope, Scope::Process { pid: 11, .. }), "{alone:?}");
        assert_eq!((alone.group.as_deref(), alone.lost.lost_ns), (Some("/alone"), 600_000_000));
    }

    #[test]
    fn without_delays_nobody_is_said_to_have_waited() {
        assert_eq!(waited(&Second::bare().interval()), None);
    }
}
