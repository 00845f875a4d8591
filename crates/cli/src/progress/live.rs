//! What the terminal shows beside the moving line: a sparkline a load, and the slowest response so
//! far with what it was spent on. A function of the lines of the runs.

use std::collections::BTreeMap;

use analysis::explained::{Explained, Part, explain};
use model::units::format_duration;
use model::{Line, SampleRecord, histogram};

/// Most responses of a load in its sparkline, the latest.
const MOST_RESPONSES: usize = 30;
/// Most loads that are shown, the latest.
const MOST_LOADS: usize = 10;
/// Most letters of a load's name.
const MOST_LETTERS: usize = 28;
/// The letters of a sparkline, from the quickest to the slowest.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A part below this share of a delay is not told.
const LEAST_SHARE: f64 = 0.1;
/// Most parts that are told.
const MOST_PARTS: usize = 3;

/// The responses so far.
#[derive(Default)]
pub(super) struct Live {
    /// The loads in the order of their first response.
    loads: Vec<Load>,
    worst: Option<Worst>,
    /// Of each run its last sample, which the next one may have had to wait for.
    last: BTreeMap<usize, SampleRecord>,
}

struct Load {
    name: String,
    delays_ns: Vec<u64>,
    longest_ns: u64,
}

struct Worst {
    load: String,
    delay_ns: u64,
    censored: bool,
    /// What it was spent on; empty if that was not counted.
    spent: String,
}

impl Live {
    /// Takes a line of a run of a load.
    pub(super) fn on_line(&mut self, run: usize, load: &str, line: &Line) {
        match line {
            Line::Sample(sample) => {
                let explained = explain(sample, self.last.get(&run));
                self.add(load, explained.delay_ns, sample.completed_ns.is_none(), || {
                    spent(&explained)
                });
                // Only its times are needed.
                let (before, after) = Default::default();
                self.last.insert(run, SampleRecord { before, after, ..(**sample).clone() });
            }
            Line::Histogram(record) => {
                let delays = histogram::decode(&record.hdr_v2_base64).unwrap_or_default();
                if let Some(longest_ns) = delays.into_iter().max() {
                    self.add(load, longest_ns, false, String::new);
                }
            }
            _ => {}
        }
    }

    /// A run is over: what follows under its number is another one.
    pub(super) fn over(&mut self, run: usize) {
        self.last.remove(&run);
    }

    fn add(&mut self, name: &str, delay_ns: u64, censored: bool, spent: impl Fn() -> String) {
        let place = self.loads.iter().position(|load| load.name == name).unwrap_or_else(|| {
            self.loads.push(Load { name: name.to_owned(), delays_ns: Vec::new(), longest_ns: 0 });
            self.loads.len() - 1
        });
        let load = &mut self.loads[place];
        load.delays_ns.push(delay_ns);
        if load.delays_ns.len() > MOST_RESPONSES {
            load.delays_ns.remove(0);
        }
        load.longest_ns = load.longest_ns.max(delay_ns);
        if self.worst.as_ref().is_none_or(|worst| delay_ns > worst.delay_ns) {
            self.worst = Some(Worst { load: name.to_owned(), delay_ns, censored, spent: spent() });
        }
    }

    /// The lines below the moving one; none before the first response.
    pub(super) fn lines(&self) -> Vec<String> {
        let shown = &self.loads[self.loads.len().saturating_sub(MOST_LOADS)..];
        let all = || shown.iter().flat_map(|load| load.delays_ns.iter().copied());
        let (Some(low_ns), Some(high_ns)) = (all().min(), all().max()) else { return Vec::new() };
        let names: Vec<String> =
            shown.iter().map(|load| load.name.chars().take(MOST_LETTERS).collect()).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let line = |(load, name): (&Load, &String)| {
            let delays = load.delays_ns.iter();
            let bars: String = delays.map(|delay_ns| level(*delay_ns, low_ns, high_ns)).collect();
            let last = load.delays_ns.last().map_or_else(String::new, |ns| format_duration(*ns));
            format!(
                "  {name:<width$}  {bars:<MOST_RESPONSES$}  {last:>6}  longest {}",
                format_duration(load.longest_ns)
            )
        };
        let worst = self.worst.as_ref().map(Worst::text);
        shown.iter().zip(&names).map(line).chain(worst).collect()
    }
}

impl Worst {
    fn text(&self) -> String {
        let censored = if self.censored { ", not finished" } else { "" };
        let delay = format_duration(self.delay_ns);
        let spent = match self.spent.as_str() {
            "" => String::new(),
            spent => format!(": {spent}"),
        };
        format!("  slowest so far: {delay} under {}{censored}{spent}", self.load)
    }
}

/// A delay as a letter, on a logarithmic scale from the shortest to the longest.
fn level(delay_ns: u64, low_ns: u64, high_ns: u64) -> char {
    let log = |ns: u64| (ns.max(1) as f64).ln();
    let range = log(high_ns) - log(low_ns);
    // Of responses that are all alike none stands out.
    let part = if range < 0.05 { 0.0 } else { (log(delay_ns) - log(low_ns)) / range };
    LEVELS[((part * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)]
}

/// The largest parts of a delay; empty if no counter tells of any.
fn spent(explained: &Explained) -> String {
    if !explained.is_counted() {
        return String::new();
    }
    let whole_ns = explained.delay_ns.max(1) as f64;
    let mut parts: Vec<(Part, f64)> = explained
        .parts_ns
        .iter()
        .filter_map(|(part, time_ns)| Some((*part, (*time_ns)? as f64 / whole_ns)))
        .filter(|(_, share)| *share >= LEAST_SHARE)
        .collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let texts = parts.iter().take(MOST_PARTS);
    let texts = texts.map(|(part, share)| format!("{} {:.0} %", part.name(), 100.0 * share));
    texts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(index: u32, delay_ms: u64, wait_ms: u64) -> Line {
        let intended_ns = 1_000_000_000 * (u64::from(index) + 1);
        let end_ns = intended_ns + delay_ms * 1_000_000;
        let text = format!(
            r#"{{"kind":"sample","at_ns":{end_ns},"index":{index},"intended_ns":{intended_ns},"started_ns":{intended_ns},"completed_ns":{end_ns},"before":{{"schedstat":{{"wait_ns":0}}}},"after":{{"schedstat":{{"wait_ns":{}}}}}}}"#,
            wait_ms * 1_000_000
        );
        Line::parse(&text).unwrap()
    }

    #[test]
    fn each_load_has_its_sparkline_and_the_slowest_its_reason() {
        let mut live = Live::default();
        assert!(live.lines().is_empty(), "nothing is shown of nothing");
        for (index, delay_ms) in [4, 4, 5].into_iter().enumerate() {
            live.on_line(0, "noload", &sample(index as u32, delay_ms, 0));
        }
        for (index, delay_ms) in [40, 400, 80].into_iter().enumerate() {
            live.on_line(1, "largewrite", &sample(index as u32, delay_ms, delay_ms / 2));
        }
        insta::assert_snapshot!(live.lines().join("\n"), @r"
        noload      ▁▁▁                             5.00ms  longest 5.00ms
        largewrite  ▅█▆                             80.0ms  longest 400ms
        slowest so far: 400ms under largewrite: CPU wait 50 %, unexplained 50 %
        ");
    }

    #[test]
    fn only_the_latest_are_kept() {
        let mut live = Live::default();
        for index in 0..100 {
            live.on_line(0, "noload", &sample(index, 4, 0));
        }
        for load in 0..30 {
            live.on_line(1 + load, &format!("load-{load}"), &sample(0, 4, 0));
        }
        assert_eq!(live.loads[0].delays_ns.len(), MOST_RESPONSES);
        assert_eq!(live.lines().len(), MOST_LOADS + 1);
    }
}
