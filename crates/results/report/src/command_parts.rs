//! What the time of the user's commands consists of, and their extra time under a load.

use analysis::explained::{Account, ExplainedDifference, Part};
use analysis::{CommandTime, CommandTimes};
use model::BASELINE;
use render::{Block, Cell, Table, format};

use crate::command_ratios::label;

/// Parts below this share of the time in all rows have no column.
const LEAST_SHARE: f64 = 0.005;
/// A share below this is printed as 0.
const NO_SHARE: f64 = 0.000_5;
/// Mean number of busy processes from which a note says that times were scaled.
const SIDE_BY_SIDE: f64 = 1.05;
/// What is only known of a whole process tree.
const OF_TREE: Part = Part::BlockIo;

/// Two tables and notes; nothing if no delay was counted.
pub(crate) fn parts(times: &CommandTimes) -> Vec<Block> {
    let rows: Vec<_> =
        times.rows.iter().filter_map(|row| Some((row, row.parts.as_ref()?))).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let all = rows.iter().map(|(_, account)| &account.parts_ns);
    let is_shown = |part: &Part| {
        let is_large = |account: &Account| account.share(*part).unwrap_or(0.0) >= LEAST_SHARE;
        *part == Part::Remainder || rows.iter().any(|(_, account)| is_large(account))
    };
    let known = |part: &Part| all.clone().any(|parts| parts.get(part).is_some_and(Option::is_some));
    let columns: Vec<Part> = Part::ALL.iter().copied().filter(known).filter(is_shown).collect();
    let mut blocks = vec![of_time(&rows, &columns).into()];
    let extra = times.rows.iter().filter_map(|row| Some((row, row.extra.as_ref()?)));
    let extra: Vec<_> = extra.filter(|(row, _)| row.load != BASELINE).collect();
    if !extra.is_empty() {
        blocks.push(of_extra(&extra).into());
    }
    blocks.push(Block::Notes(notes(&rows)));
    blocks
}

fn of_time(rows: &[(&CommandTime, &Account)], columns: &[Part]) -> Table {
    let head = ["command", "load", "mean"].into_iter();
    let head = head.chain(columns.iter().map(|part| part.title()));
    let cells = rows.iter().map(|(row, account)| {
        let mean_ns = account.delay_ns as f64 / account.samples.max(1) as f64;
        let shares = columns.iter().map(|part| account.share(*part).map(Cell::Share).into());
        let first = [Cell::from(&row.command), Cell::from(&row.load), Cell::duration(mean_ns)];
        first.into_iter().chain(shares).collect::<Vec<Cell>>()
    });
    Table::of("what the elapsed time consists of (shares of the mean)", head, cells)
}

/// Shares of the extra time, where it is certain.
fn of_extra(rows: &[(&CommandTime, &ExplainedDifference)]) -> Table {
    let share = |found: &ExplainedDifference, part: Part| {
        let extra_ns = found.delay.difference_ns;
        let is_certain = found.delay.interval_ns.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        let part_ns = found.parts.get(&part)?.difference_ns;
        let share = part_ns / extra_ns;
        // Without this a small negative share is -0.0 %.
        is_certain.then_some(if share.abs() < NO_SHARE { 0.0 } else { share })
    };
    let is_shown = |part: &Part| {
        let is_large = |(_, found): &(&CommandTime, &ExplainedDifference)| {
            share(found, *part).is_some_and(|share| share.abs() >= LEAST_SHARE)
        };
        *part == Part::Remainder || rows.iter().any(is_large)
    };
    let columns: Vec<Part> = Part::ALL.iter().copied().filter(is_shown).collect();
    let head = ["command", "load", "extra time", "95 % interval"].into_iter();
    let head = head.chain(columns.iter().map(|part| part.title()));
    let signed = |ns: f64| format::signed(format::duration(ns));
    let cells = rows.iter().map(|(row, found)| {
        let interval = found.delay.interval_ns;
        let interval = interval.map(|(low, high)| format::interval(low, high, signed));
        let first = [
            Cell::from(&row.command),
            Cell::from(&row.load),
            Cell::figure(signed(found.delay.difference_ns)),
            Cell::figure(interval),
        ];
        let shares = columns.iter().map(|part| share(found, *part).map(Cell::Share).into());
        first.into_iter().chain(shares).collect::<Vec<Cell>>()
    });
    Table::of("what the extra time under a load consists of (shares of it)", head, cells)
}

fn notes(rows: &[(&CommandTime, &Account)]) -> Vec<String> {
    let mut notes = Vec::new();
    if rows.iter().any(|(_, account)| account.unknown().any(|part| part == OF_TREE)) {
        notes.push(
            "Waits for the CPU are those of the command's first process; waits for disks and memory \
             are part of unexplained. The kernel reports them of whole process trees to root only \
             (CAP_NET_ADMIN, outside containers)."
                .to_owned(),
        );
    }
    for (row, _) in rows {
        let Some(parallel) = row.parallel.filter(|parallel| *parallel >= SIDE_BY_SIDE) else {
            continue;
        };
        let label = label(&row.command, &row.load);
        notes.push(format!(
            "{label}: {} of its processes or threads were busy or delayed at a time on average, so \
             their times were scaled to the elapsed time.",
            format::factor(parallel)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use analysis::explained::PartDifference;
    use model::{EndStatus, Observation};
    use render::{Document, plain_text};

    use super::*;

    fn row(load: &str, parts: &[(Part, Option<u64>)], parallel: f64) -> CommandTime {
        let delay_ns = parts.iter().filter_map(|(_, ns)| *ns).sum();
        let account = Account { samples: 2, delay_ns, parts_ns: parts.iter().copied().collect() };
        CommandTime {
            counts: Vec::new(),
            repetitions: Vec::new(),
            command: "make".to_owned(),
            load: load.to_owned(),
            times_ns: Vec::new(),
            cold_ns: Vec::new(),
            drift: None,
            failed: 0,
            failure: None,
            median_ns: None::<Observation>,
            means: std::collections::BTreeMap::new(),
            cpu: None,
            peak_bytes: None,
            waits: std::collections::BTreeMap::new(),
            parts: Some(account),
            parallel: Some(parallel),
            extra: None,
            to_noload: None,
            to_first: None,
            status: EndStatus::Complete,
        }
    }

    fn text(rows: Vec<CommandTime>) -> String {
        let times = CommandTimes {
            figures: Vec::new(),
            place: String::new(),
            folder: None,
            seeds: Vec::new(),
            cpu_of: analysis::CountedOf::WaitedFor,
            rows,
            remarks: analysis::Remarks::default(),
        };
        let text = plain_text(&Document::of(parts(&times)));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn difference(difference_ns: f64) -> PartDifference {
        let interval_ns = Some((difference_ns - 1e6, difference_ns + 1e6));
        PartDifference { first_ns: 1e8, second_ns: 1e8 + difference_ns, difference_ns, interval_ns }
    }

    #[test]
    fn shares_of_the_time_and_of_the_extra_time_have_columns() {
        let quiet = [
            (Part::User, Some(150_000_000)),
            (Part::SwapIn, Some(0)),
            (Part::BlockIo, Some(30_000_000)),
            (Part::Remainder, Some(20_000_000)),
        ];
        let mut loaded = row("cpuload", &quiet, 1.0);
        let parts = [(Part::CpuWait, 178e6), (Part::User, 22e6), (Part::Remainder, 0.0)];
        loaded.extra = Some(ExplainedDifference {
            delay: difference(200e6),
            parts: parts.map(|(part, ns)| (part, difference(ns))).into(),
            unknown: Vec::new(),
            values: [2, 2],
            confidence: 0.95,
        });
        let said = text(vec![row(BASELINE, &quiet, 1.0), loaded]);
        for words in [
            "command load mean user block I/O unexplained make noload 100ms 75 % 15 % 10 %",
            "extra time 95 % interval user CPU wait unexplained make cpuload +200ms \
             [+199ms, +201ms] 11 % 89 % 0 %",
        ] {
            assert!(said.contains(words), "{words:?} is not in\n{said}");
        }
        assert!(!said.contains("root only") && !said.contains("scaled"), "{said}");
    }

    #[test]
    fn what_is_unknown_or_scaled_is_in_a_note() {
        let parts = [
            (Part::User, Some(60)),
            (Part::CpuWait, Some(40)),
            (Part::BlockIo, None),
            (Part::Remainder, Some(100)),
        ];
        let said = text(vec![row("cpuload", &parts, 3.2)]);
        for words in [
            "make under cpuload: 3.20 of its processes",
            "to root only",
            "user CPU wait unexplained make cpuload 100ns 30 % 20 % 50 %",
        ] {
            assert!(said.contains(words), "{words:?} is not in\n{said}");
        }
        assert!(!said.contains("block I/O"), "{said}");
    }
}
