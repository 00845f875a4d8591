//! The doctor on a recording: a file, or the segments of a folder.

use std::path::Path;

use doctor::{
    Interval, MemoryGrowth, Recording, Snapshot, UnitCosts, diagnose, memory_growth, waited,
};
use jiff::tz::TimeZone;
use report::{doctor_document, doctor_json, growth_section, waited_section};
use serde_json::json;
use survey::{Segment, read_whole, segments};

use super::at::{At, shown};
use super::{DoctorArgs, report_interval, write_metrics};
use crate::output::show;
use crate::{OrWrong, Result};

/// Diagnoses a recording: its last snapshot against its first, every interval, or the one that
/// contains a time.
pub(super) fn replay(args: &DoctorArgs, path: &Path) -> Result<()> {
    let parts = parts(path)?;
    if let Some(at) = args.at {
        return replay_at(args, path, &parts, at);
    }
    // Counters of an earlier recording in the same folder may be of another boot.
    let started = parts.last().map(|part| part.started_unix_ns);
    let of_last = parts.iter().filter(|part| Some(part.started_unix_ns) == started);
    let mut first: Option<(Snapshot, UnitCosts)> = None;
    let mut last: Option<Snapshot> = None;
    for part in of_last {
        let Recording { header, snapshots } = read(&part.path)?;
        for snapshot in snapshots {
            let Some((before, costs)) = &mut first else {
                first = Some((snapshot, header.costs.clone()));
                continue;
            };
            if args.watch {
                report_interval(args, before, &snapshot, costs, None)?;
                *before = snapshot.clone();
            }
            last = Some(snapshot);
        }
    }
    match (first, last) {
        (Some(_), Some(_)) if args.watch => Ok(()),
        (Some((before, costs)), Some(after)) => {
            report_interval(args, &before, &after, &costs, None)
        }
        _ => Err(wrong!("{}: a diagnosis needs two snapshots", path.display())),
    }
}

fn read(path: &Path) -> Result<Recording> {
    read_whole(path).or_wrong(path.display().to_string())
}

/// The segments of a folder, or a file as the only one.
fn parts(path: &Path) -> Result<Vec<Segment>> {
    if !path.is_dir() {
        let Recording { header, snapshots } = read(path)?;
        let started_unix_ns = header.started_unix_ns;
        let at_ns = snapshots.first().map_or(0, |first| first.at_ns);
        let from_unix_ns = started_unix_ns.saturating_add(at_ns);
        return Ok(vec![Segment { path: path.to_owned(), started_unix_ns, from_unix_ns }]);
    }
    let found = segments(path).or_wrong(path.display().to_string())?;
    match found.is_empty() {
        true => Err(wrong!("{}: there is no recording in this folder", path.display())),
        false => Ok(found),
    }
}

/// Part of a recording: snapshots with their times in ns since 1970 UTC.
struct Span {
    costs: UnitCosts,
    snapshots: Vec<(u64, Snapshot)>,
}

impl Span {
    /// The snapshots of the segment that contains a time, and of those after it that are needed for
    /// an interval of `for_ns`.
    fn read(parts: &[Segment], at_unix_ns: u64, for_ns: u64) -> Result<Self> {
        let after = parts.iter().rposition(|part| part.from_unix_ns <= at_unix_ns);
        let index = after.unwrap_or(0);
        let started_unix_ns = parts[index].started_unix_ns;
        let mut span = Self { costs: UnitCosts::default(), snapshots: Vec::new() };
        // The interval may begin in the segment before.
        for part in &parts[index.saturating_sub(1)..] {
            let is_enough = |(unix_ns, _): &(u64, Snapshot)| *unix_ns >= at_unix_ns + for_ns;
            if part.started_unix_ns != started_unix_ns {
                continue;
            }
            if span.snapshots.last().is_some_and(is_enough) {
                break;
            }
            let Recording { header, snapshots } = read(&part.path)?;
            span.costs = header.costs;
            let unix_ns = |snapshot: &Snapshot| started_unix_ns.saturating_add(snapshot.at_ns);
            span.snapshots.extend(snapshots.into_iter().map(|it| (unix_ns(&it), it)));
        }
        Ok(span)
    }

    /// The indices of the ends of an interval of `for_ns` that contains a time.
    fn interval(&self, at_unix_ns: u64, for_ns: u64) -> Option<[usize; 2]> {
        let all = &self.snapshots;
        let until = all.iter().rposition(|(unix_ns, _)| *unix_ns <= at_unix_ns)?;
        // The last snapshot ends an interval and begins none.
        let first = until.min(all.len().checked_sub(2)?);
        let enough = |(unix_ns, _): &&(u64, Snapshot)| *unix_ns >= all[first].0 + for_ns;
        let after = all.iter().skip(first + 1).position(|it| enough(&it));
        let after = after.map_or(all.len() - 1, |count| first + 1 + count);
        (all[after].0 >= at_unix_ns).then_some([first, after])
    }

    /// Whose memory grew: also those that the snapshots at the ends left out.
    fn memory_growth(&self, [first, after]: [usize; 2]) -> Vec<MemoryGrowth> {
        let latest = |part: &[(u64, Snapshot)]| Snapshot::latest(part.iter().map(|(_, it)| it));
        let before = latest(&self.snapshots[..=first]).unwrap_or_default();
        let after = latest(&self.snapshots[first + 1..=after]).unwrap_or_default();
        memory_growth(&Interval::new(&before, &after))
    }
}

/// Rows of who filled memory and of who waited, on one screen.
const BRIEF_ROWS: usize = 2;

fn replay_at(args: &DoctorArgs, path: &Path, parts: &[Segment], at: At) -> Result<()> {
    let zone = TimeZone::system();
    let (Some(begin), Some(last)) = (parts.first(), parts.last()) else {
        return Err(wrong!("{}: there is no recording", path.display()));
    };
    let end = read(&last.path)?;
    let end_ns = end.snapshots.last().map_or(0, |last| last.at_ns);
    let end_unix_ns = last.started_unix_ns.saturating_add(end_ns);
    let at_unix_ns = at.unix_ns(end_unix_ns, &zone).map_err(crate::wrong)?;
    let span = Span::read(parts, at_unix_ns, args.for_ns)?;
    let found = span.interval(at_unix_ns, args.for_ns);
    let Some(ends) = found else {
        let [at, begin, end] =
            [at_unix_ns, begin.from_unix_ns, end_unix_ns].map(|unix_ns| shown(unix_ns, &zone));
        return Err(wrong!(
            "{}: nothing was recorded at {at}; the recording is from {begin} to {end}",
            path.display()
        ));
    };
    let [(from_ns, before), (to_ns, after)] = ends.map(|index| &span.snapshots[index]);
    let interval = Interval::new(before, after);
    let diagnosis = diagnose(&interval, &span.costs);
    if write_metrics(args, &[(None, &diagnosis)])? {
        return Ok(());
    }
    let grown = span.memory_growth(ends);
    let mut document = doctor_document(&diagnosis, args.top, args.verbose);
    let waited = waited(&interval);
    let sections = |top| [growth_section(&grown, top), waited_section(waited.as_deref(), top)];
    if let Some(brief) = &mut document.brief {
        brief.sections.splice(0..0, sections(args.top.min(BRIEF_ROWS)));
    }
    document.sections.splice(0..0, sections(args.top));
    let mut data = doctor_json(&diagnosis);
    data["memory_growth"] = json!(grown);
    data["waited"] = json!(waited);
    let times = [("from", shown(*from_ns, &zone)), ("to", shown(*to_ns, &zone))];
    show(&document.with_facts(times).with_data(data), &args.output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_contains_the_time_and_is_long_enough() {
        let snapshots = (1..=5_u64).map(|at| (at * 10, Snapshot::default())).collect();
        let span = Span { costs: UnitCosts::default(), snapshots };
        let ends = |at, for_ns| {
            span.interval(at, for_ns).map(|ends| ends.map(|index| span.snapshots[index].0))
        };
        assert_eq!(ends(25, 10), Some([20, 30]));
        assert_eq!(ends(20, 10), Some([20, 30]));
        assert_eq!(ends(25, 15), Some([20, 40]));
        assert_eq!(ends(25, 1000), Some([20, 50]), "as much as there is");
        assert_eq!(ends(50, 10), Some([40, 50]), "the last snapshot ends an interval");
        assert_eq!(ends(9, 10), None);
        assert_eq!(ends(51, 10), None);
    }
}
