//! The elapsed time of a command as a sum of parts.

use model::{CounterSet, SampleRecord, Values, WorkRecord};

use super::{Explained, STATES, counted_ns, explain};

/// The parts of a repetition of a command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExplainedWork {
    /// They sum to the elapsed time.
    pub(crate) explained: Explained,
    /// Time of all its processes in the states of a task, but asleep, over the elapsed time. If it
    /// is above 1, they ran side by side, and their times were scaled down to the elapsed time.
    pub(crate) parallel: f64,
}

/// Divides the elapsed time of a repetition; `None` if it did not end, or no delay was counted.
///
/// The counters are sums over the processes of a tree, most of whose parents sleep meanwhile.
pub(crate) fn explain_work(work: &WorkRecord) -> Option<ExplainedWork> {
    let elapsed_ns = work.completed_ns?.saturating_sub(work.started_ns);
    if work.delays.is_empty() || elapsed_ns == 0 {
        return None;
    }
    let mut after = work.delays.clone();
    after.insert("rusage".into(), work.usage.clone());
    let mut sample = SampleRecord {
        intended_ns: work.started_ns,
        started_ns: Some(work.started_ns),
        completed_ns: work.completed_ns,
        before: all(&after, |_| 0),
        after,
        ..SampleRecord::default()
    };
    let busy_ns = STATES.iter().filter_map(|state| counted_ns(&sample, *state));
    let parallel = busy_ns.fold(0.0, |sum, ns| sum + ns as f64) / elapsed_ns as f64;
    if parallel > 1.0 {
        // Rounded up, so that what was counted stays counted.
        sample.after = all(&sample.after, |value| (value as f64 / parallel).ceil() as u64);
    }
    Some(ExplainedWork { explained: explain(&sample, None), parallel })
}

/// Counters of the same sources and names, each with the value computed from its old one.
fn all(set: &CounterSet, value: impl Fn(u64) -> u64) -> CounterSet {
    let of_source = |values: &Values| -> Values {
        values.iter().map(|(name, old)| (name.clone(), value(*old))).collect()
    };
    set.iter().map(|(source, values)| (source.clone(), of_source(values))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explained::Part;

    fn work(delays: &[(&str, &str, u64)], user_ns: u64) -> WorkRecord {
        let mut set = CounterSet::new();
        for (source, name, value) in delays {
            set.entry((*source).into()).or_default().insert((*name).into(), *value);
        }
        WorkRecord {
            started_ns: 50,
            completed_ns: Some(1050),
            usage: [("user_ns".into(), user_ns), ("system_ns".into(), 100)].into(),
            delays: set,
            ..WorkRecord::default()
        }
    }

    fn sum(explained: &Explained) -> u64 {
        explained.parts_ns.values().flatten().sum()
    }

    #[test]
    fn the_parts_of_a_repetition_sum_to_its_time() {
        let delays = [
            ("taskstats", "cpu_delay_total_ns", 200),
            ("taskstats", "blkio_delay_total_ns", 150),
            ("taskstats", "thrashing_delay_total_ns", 50),
        ];
        let found = explain_work(&work(&delays, 300)).unwrap();
        let part = |part| found.explained.parts_ns[&part];
        assert_eq!((part(Part::User), part(Part::System)), (Some(300), Some(100)));
        assert_eq!((part(Part::CpuWait), part(Part::BlockIo)), (Some(200), Some(100)));
        assert_eq!((part(Part::Thrashing), part(Part::Remainder)), (Some(50), Some(250)));
        assert_eq!((part(Part::Throttled), part(Part::MissedStart)), (None, Some(0)));
        assert_eq!((sum(&found.explained), found.parallel), (1000, 0.75));
    }

    #[test]
    fn processes_side_by_side_are_scaled_to_the_elapsed_time() {
        let found =
            explain_work(&work(&[("taskstats", "cpu_delay_total_ns", 1900)], 2000)).unwrap();
        assert_eq!((sum(&found.explained), found.parallel), (1000, 4.0));
        assert_eq!(found.explained.parts_ns[&Part::CpuWait], Some(475));
        assert_eq!(found.explained.parts_ns[&Part::Remainder], Some(0));
    }

    #[test]
    fn what_was_not_counted_or_did_not_end_has_no_parts() {
        assert_eq!(explain_work(&work(&[], 300)), None);
        let cut = WorkRecord { completed_ns: None, ..work(&[("schedstat", "wait_ns", 1)], 3) };
        assert_eq!(explain_work(&cut), None);
        let first = explain_work(&work(&[("schedstat", "wait_ns", 40)], 300)).unwrap();
        assert_eq!(first.explained.parts_ns[&Part::CpuWait], Some(40));
        assert_eq!(first.explained.parts_ns[&Part::BlockIo], None, "unknown and not 0");
    }
}
