//! What cyclictest prints: the histogram of `-h`, and the line of each thread of `-q`.

use std::collections::BTreeMap;

use crate::cyclictest::{Output, Thread, observations};
use crate::dataset::{Imported, Options, Refusal};

const HISTOGRAM: &str = "# Histogram";
const TOTAL: &str = "# Total:";
const LEAST: &str = "# Min Latencies:";
const MEAN: &str = "# Avg Latencies:";
const LONGEST: &str = "# Max Latencies:";
const OVERFLOWS: &str = "# Histogram Overflows:";

/// Whether a text is of cyclictest.
pub(super) fn looks_right(text: &str) -> bool {
    let is_summary = |line: &str| summary(line).is_some();
    let is_histogram = |line: &str| line.trim_end() == HISTOGRAM || line.starts_with(LEAST);
    text.lines().any(|line| is_summary(line) || is_histogram(line))
}

/// Reads what cyclictest prints, as [`crate::cyclictest::read`] reads its JSON.
pub(super) fn read(text: &str, options: &Options) -> Imported {
    let output = parse(text).map_err(|(line, why)| Refusal::line(line, why))?;
    observations(output, options)
}

/// The threads of a text. Fails where a line of the histogram is damaged or missing.
fn parse(text: &str) -> Result<Output, (usize, String)> {
    let is_histogram = |line: &str| line.trim_end() == HISTOGRAM || line.starts_with(LEAST);
    if text.lines().any(is_histogram) { histogram(text) } else { summaries(text) }
}

/// The last line of each thread: `T: 0 (32) P: 0 I:1000 C: 100 Min: 63 Act: 65 Avg: 64 Max: 73`.
fn summaries(text: &str) -> Result<Output, (usize, String)> {
    Ok(Output::of_threads(text.lines().filter_map(summary).collect(), None))
}

fn summary(line: &str) -> Option<(String, Thread)> {
    let (number, rest) = line.trim().strip_prefix("T:")?.split_once('(')?;
    let after = |name: &str| -> Option<u64> {
        let (_, rest) = rest.split_once(name)?;
        rest.split_whitespace().next()?.parse().ok()
    };
    let (cycles, min) = (after("C:")?, after("Min:")?);
    let (avg, max) = (after("Avg:")? as f64, after("Max:")?);
    let number: u64 = number.trim().parse().ok()?;
    Some((number.to_string(), Thread { cycles, min, max, avg, ..Thread::default() }))
}

/// A row per bucket, a column per thread; `-H` adds a column with their sums.
fn histogram(text: &str) -> Result<Output, (usize, String)> {
    let list = |name: &str| -> Result<Vec<u64>, (usize, String)> {
        let mut lines = (1..).zip(text.lines());
        let found = lines.find_map(|(number, line)| Some((number, line.strip_prefix(name)?)));
        let (number, rest) =
            found.ok_or_else(|| (text.lines().count(), format!("no line {name:?}: it is cut")))?;
        let values: Option<Vec<u64>> =
            rest.split_whitespace().map(|word| word.parse().ok()).collect();
        values.ok_or_else(|| (number, format!("{rest:?} is not a number per thread")))
    };
    let (least, mean, longest) = (list(LEAST)?, list(MEAN)?, list(LONGEST)?);
    let (totals, overflows) = (list(TOTAL)?, list(OVERFLOWS)?);
    let threads = least.len();
    if [&mean, &longest, &totals, &overflows].iter().any(|list| list.len() < threads) {
        return Err((1, "its lists have different numbers of threads".to_owned()));
    }
    let mut buckets: Vec<BTreeMap<String, u64>> = vec![BTreeMap::new(); threads];
    let mut limit = 0;
    for (number, line) in (1..).zip(text.lines()) {
        if !line.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let words: Option<Vec<u64>> =
            line.split_whitespace().map(|word| word.parse().ok()).collect();
        let Some([bucket, counts @ ..]) = words.as_deref() else {
            return Err((number, format!("{line:?} is not a row of the histogram")));
        };
        if counts.len() < threads {
            return Err((number, format!("{} counts for {threads} threads", counts.len())));
        }
        limit = limit.max(bucket.saturating_add(1));
        for (thread, count) in buckets.iter_mut().zip(counts).filter(|(_, count)| **count > 0) {
            thread.insert(bucket.to_string(), *count);
        }
    }
    for (at, (histogram, total)) in buckets.iter().zip(&totals).enumerate() {
        check_total(at, histogram, *total).map_err(|why| {
            let line = text.lines().position(|line| line.starts_with(TOTAL)).unwrap_or(0);
            (line + 1, why)
        })?;
    }
    let thread = buckets.into_iter().enumerate().map(|(at, histogram)| {
        let cycles = totals[at].saturating_add(overflows[at]);
        let (min, max, avg) = (least[at], longest[at], mean[at] as f64);
        (at.to_string(), Thread { histogram, cycles, min, max, avg })
    });
    let command = Some(format!("cyclictest -h {limit}"));
    Ok(Output::of_threads(thread.collect(), command))
}

/// Fails unless the rows hold as many delays of a thread as its total, which leaves out those beyond
/// the histogram: a missing row would make its delays lie beyond it.
fn check_total(thread: usize, histogram: &BTreeMap<String, u64>, total: u64) -> Result<(), String> {
    let held = histogram.values().map(|count| u128::from(*count)).sum::<u128>();
    match held == u128::from(total) {
        true => Ok(()),
        false => Err(format!(
            "the rows of thread {thread} hold {held} delays, but its total is {total}: rows are \
             missing or damaged"
        )),
    }
}
