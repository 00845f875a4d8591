//! Logs of MMTests' benchmarks of disks and databases: fio, pgbench and sysbench.

use super::reading::{Reading, number};

/// What separates the fields of fio's terse output.
const SEPARATOR: char = ';';
/// Fields of fio's terse output, from 0 (fio's HOWTO, "Terse output").
const FIO_NAME: usize = 2;
const FIO_ERROR: usize = 4;
/// The first field of reads: their total in KiB.
const FIO_READ: usize = 5;
/// The mean bandwidth in KiB/s, from the first field of a direction.
const FIO_BANDWIDTH: usize = 39;
/// How many fields a direction has, by the version of the output in the first field.
const FIO_FIELDS: [(&str, usize); 4] = [("2", 41), ("3", 41), ("4", 41), ("5", 47)];

/// Lines of a transaction log of pgbench before its rate is steady, and lines of a reading, as
/// in MMTests.
const PGBENCH_WARMUP: usize = 7;
const PGBENCH_BATCH: usize = 4;

/// The fields of each job in a terse output, with how many of them a direction has.
fn jobs(text: &str) -> impl Iterator<Item = (Vec<&str>, usize)> {
    text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.trim().split(SEPARATOR).collect();
        let (_, count) = FIO_FIELDS.iter().find(|(version, _)| fields[0] == *version)?;
        (fields.len() >= FIO_READ + 2 * count).then_some((fields, *count))
    })
}

/// Why a job of fio failed, if one did.
pub(super) fn fio_failure(text: &str) -> Option<String> {
    let failed = |(fields, _): &(Vec<&str>, usize)| fields[FIO_ERROR] != "0";
    let (fields, _) = jobs(text).find(failed)?;
    Some(format!("fio reports error {} of {}", fields[FIO_ERROR], fields[FIO_NAME]))
}

/// The mean bandwidth of each job and direction. A job's name does not show how many processes it
/// had, where the command line above it does.
pub(super) fn fio(text: &str) -> Vec<Reading> {
    let (mut found, mut processes) = (Vec::new(), None);
    for line in text.lines() {
        if line.starts_with("fio ") {
            processes = line.split_whitespace().find_map(|word| word.strip_prefix("--numjobs="));
        }
        for (fields, count) in jobs(line) {
            let name = match processes {
                Some(processes) => format!("{}-j{processes}", fields[FIO_NAME]),
                None => fields[FIO_NAME].to_owned(),
            };
            for (at, direction) in [(FIO_READ, "read"), (FIO_READ + count, "write")] {
                let is_used = number(fields[at]).is_some_and(|total| total > 0.0);
                let value = number(fields[at + FIO_BANDWIDTH]).filter(|_| is_used);
                let metric = format!("kb/sec-{name}-{direction}");
                let reading =
                    |value| Reading { metric, unit: "KiB/s", more_is_better: true, value };
                found.extend(value.map(reading));
            }
        }
    }
    found
}

/// Transactions a second: of a log of transactions (time in s, number, …) in batches of lines, or
/// of the summary.
pub(super) fn pgbench(name: &str, text: &str) -> Vec<Reading> {
    let reading = |metric: &str, value| Reading {
        metric: metric.to_owned(),
        unit: "/s",
        more_is_better: true,
        value,
    };
    if !name.contains("-transactions-") {
        // Versions before 14 print a second one, without connecting.
        let line = text.lines().find_map(|line| line.strip_prefix("tps = "));
        let value = line.and_then(|rest| number(rest.split_whitespace().next()?));
        return value.map(|value| reading("tps", value)).into_iter().collect();
    }
    let row = |line: &str| {
        let mut fields = line.split_whitespace();
        Some((number(fields.next()?)?, number(fields.next()?)?))
    };
    let rows: Vec<(f64, f64)> = text.lines().filter_map(row).skip(PGBENCH_WARMUP).collect();
    let Some((&(mut begin_s, _), rest)) = rows.split_first() else { return Vec::new() };
    let mut found = Vec::new();
    for batch in rest.chunks_exact(PGBENCH_BATCH) {
        let (end_s, _) = batch[PGBENCH_BATCH - 1];
        let count: f64 = batch.iter().map(|(_, count)| count).sum();
        if end_s > begin_s {
            found.push(reading("txn/sec", count / (end_s - begin_s)));
        }
        begin_s = end_s;
    }
    found
}

/// `transactions: 1234 (56.78 per sec.)`.
pub(super) fn sysbench(text: &str) -> Vec<Reading> {
    let rate = |line: &str| {
        let rest = line.trim_start().strip_prefix("transactions:")?;
        let value = number(rest.split_once('(')?.1.strip_suffix("per sec.)")?)?;
        let metric = "txn/sec".to_owned();
        Some(Reading { metric, unit: "/s", more_is_better: true, value })
    };
    text.lines().filter_map(|line| rate(line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terse line of fio with a total and a bandwidth of each direction.
    fn terse(version: &str, error: &str, [read, write]: [(u32, f64); 2]) -> String {
        let count = FIO_FIELDS.iter().find(|(it, _)| *it == version).unwrap().1;
        let mut fields = vec!["0".to_owned(); FIO_READ + 3 * count];
        fields[0] = version.to_owned();
        fields[FIO_NAME] = "randrw".to_owned();
        fields[FIO_ERROR] = error.to_owned();
        for (at, (total, bandwidth)) in [(FIO_READ, read), (FIO_READ + count, write)] {
            fields[at] = total.to_string();
            fields[at + FIO_BANDWIDTH] = bandwidth.to_string();
        }
        fields.join(";")
    }

    fn values(found: Vec<Reading>) -> Vec<(String, f64)> {
        found.into_iter().map(|it| (it.metric, it.value)).collect()
    }

    #[test]
    fn fields_of_fio_depend_on_the_version_of_its_output() {
        for version in ["3", "5"] {
            let text = terse(version, "0", [(10, 1.5), (20, 2.5)]);
            let expected = [("kb/sec-randrw-read", 1.5), ("kb/sec-randrw-write", 2.5)];
            assert_eq!(values(fio(&text)), expected.map(|(name, it)| (name.to_owned(), it)));
        }
        let text = format!(
            "fio --rw=read --numjobs=4 --size=1G\n{}\nfio --numjobs=8 x\n{}\n",
            terse("5", "0", [(10, 1.5), (0, 9.0)]),
            terse("5", "0", [(10, 2.0), (0, 9.0)])
        );
        let names: Vec<String> = fio(&text).into_iter().map(|it| it.metric).collect();
        assert_eq!(names, ["kb/sec-randrw-j4-read", "kb/sec-randrw-j8-read"]);
        let failed = fio_failure(&terse("3", "28", [(10, 1.5), (0, 0.0)]));
        assert_eq!(failed.unwrap(), "fio reports error 28 of randrw");
        assert!(fio("3;fio-3.36;cut;0;0;10").is_empty(), "a line that is cut");
    }

    #[test]
    fn rates_of_pgbench_are_those_of_batches_after_the_warm_up() {
        let line = |second: u32| {
            let count = if second < 8 { 1 } else { 100 + second };
            format!("{} {count} 5 6 7 8\n", 1_600_000_000 + second)
        };
        let text: String = (0..16).map(line).collect();
        let found = values(pgbench("pgbench-transactions-8.log", &text));
        let expected = [(8..12).sum::<u32>(), (12..16).sum::<u32>()];
        let expected = expected.map(|sum| ("txn/sec".to_owned(), 100.0 + f64::from(sum) / 4.0));
        assert_eq!(found, expected);
        for summary in [
            "latency average = 1 ms\ntps = 812.5 (including connections establishing)\ntps = 900 \
             (excluding connections establishing)\n",
            "tps = 812.5 (without initial connection time)\n",
        ] {
            let found = values(pgbench("pgbench-8.log", summary));
            assert_eq!(found, [("tps".to_owned(), 812.5)]);
        }
    }

    #[test]
    fn the_rate_of_sysbench_is_in_brackets() {
        let text = "    transactions:                        10000  (812.50 per sec.)\n\
                    \x20   queries:                             10 (1.0 per sec.)\n";
        assert_eq!(values(sysbench(text)), [("txn/sec".to_owned(), 812.5)]);
        assert!(sysbench("transactions: 10000 (812").is_empty());
    }
}
