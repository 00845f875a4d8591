//! Below the moving line: a sparkline per load, and the slowest response so far with its causes. A
//! function of the lines of the runs.

use std::collections::BTreeMap;

use analysis::explained::{Explained, Part, explain, is_counted};
use model::units::format_duration_ns;
use model::{Line, PassRecord, SampleRecord, WorkRecord};

/// Most responses of a load in its sparkline, the latest.
const MOST_RESPONSES: usize = 30;
/// A sparkline of fewer is not worth its place: other columns go first.
const LEAST_RESPONSES: usize = 10;
/// Most loads that are shown, the latest.
const MOST_LOADS: usize = 10;
const MOST_LETTERS: usize = 28;
/// The characters of a sparkline, from the quickest to the slowest.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Characters of a duration, and those of the columns next to a sparkline.
const DURATION: usize = 6;
const LAST: usize = DURATION + 2;
const LONGEST: usize = DURATION + 10;
/// A part below this share of a delay is not shown.
const LEAST_SHARE: f64 = 0.1;
const MOST_PARTS: usize = 3;

/// The responses so far: of jobs, the commands of a session and the passes of work on memory.
#[derive(Default)]
pub(super) struct Live {
    /// The loads in the order of their first response.
    loads: Vec<Load>,
    worst: Option<Worst>,
    /// The last sample of each run: the next one may have had to wait for it.
    last: BTreeMap<usize, Box<SampleRecord>>,
    /// How many users have had a response; a command has one, which is not named.
    users: u32,
}

struct Load {
    name: String,
    times_ns: Vec<f64>,
    longest_ns: f64,
}

struct Worst {
    time_ns: f64,
    /// `206ms under cpuload: CPU wait 94 %`.
    text: String,
}

impl Live {
    pub(super) fn on_line(&mut self, run: usize, load: &str, line: &Line) {
        match line {
            Line::Sample(sample) => {
                let explained = explain(sample, self.last.get(&run).map(|last| &**last));
                let given_up = if sample.completed_ns.is_none() { ", not finished" } else { "" };
                self.last.insert(run, sample.clone());
                self.add(load, explained.delay_ns as f64, |delay| {
                    let spent = spent(&explained);
                    let colon = if spent.is_empty() { "" } else { ": " };
                    format!("{delay} under {load}{given_up}{colon}{spent}")
                });
            }
            Line::Histogram(record) => {
                let counts = record.counts().unwrap_or_default();
                let longest = counts.iter().max_by_key(|(delay_ns, ..)| *delay_ns);
                if let Some((longest_ns, _, censored)) = longest {
                    let given_up = if censored.is_some() { ", not finished" } else { "" };
                    self.add(load, *longest_ns as f64, |delay| {
                        format!("{delay} under {load}{given_up}")
                    });
                }
            }
            Line::Work(work) => self.on_work(load, work),
            Line::Pass(pass) => self.on_pass(load, pass),
            _ => {}
        }
    }

    fn on_work(&mut self, load: &str, work: &WorkRecord) {
        let Some(elapsed) = work.elapsed_ns() else { return };
        let given_up = if elapsed.is_lower_bound { ", not finished" } else { "" };
        self.users = self.users.max(work.worker + 1);
        let of_user = match self.users {
            1 => String::new(),
            _ => format!(" of user {}", work.worker),
        };
        let item = &work.item;
        self.add(load, elapsed.value, |time| {
            format!("{time} under {load}{given_up}: {item}{of_user}")
        });
    }

    fn on_pass(&mut self, load: &str, pass: &PassRecord) {
        // A pass of a session is its commands, which are shown one by one.
        let Some(touches) = pass.usage.get("touches").filter(|touches| **touches > 0) else {
            return;
        };
        let elapsed_ns = pass.completed_ns.saturating_sub(pass.started_ns);
        self.add(load, elapsed_ns as f64 / *touches as f64, |time| {
            format!("{time} a touch under {load}: pass {}", pass.pass + 1)
        });
    }

    /// A run has ended: what follows under its number is another one.
    pub(super) fn over(&mut self, run: usize) {
        self.last.remove(&run);
    }

    fn add(&mut self, name: &str, time_ns: f64, text: impl FnOnce(String) -> String) {
        let place = self.loads.iter().position(|load| load.name == name).unwrap_or_else(|| {
            self.loads.push(Load { name: name.to_owned(), times_ns: Vec::new(), longest_ns: 0.0 });
            self.loads.len() - 1
        });
        let load = &mut self.loads[place];
        load.times_ns.push(time_ns);
        if load.times_ns.len() > MOST_RESPONSES {
            load.times_ns.remove(0);
        }
        load.longest_ns = load.longest_ns.max(time_ns);
        if self.worst.as_ref().is_none_or(|worst| time_ns > worst.time_ns) {
            self.worst = Some(Worst { time_ns, text: text(format_duration_ns(time_ns)) });
        }
    }

    /// The slowest response with its reason; `None` before the first one.
    pub(super) fn worst(&self) -> Option<String> {
        self.worst.as_ref().map(|worst| format!("  slowest so far: {}", worst.text))
    }

    /// One line per load, up to a maximum width, and the latest loads up to a maximum number of
    /// lines.
    pub(super) fn sparklines(&self, columns: usize, most: usize) -> Vec<String> {
        let shown = &self.loads[self.loads.len().saturating_sub(most.min(MOST_LOADS))..];
        let all = || shown.iter().flat_map(|load| load.times_ns.iter().copied());
        let (low_ns, high_ns) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        let longest = shown.iter().map(|load| load.name.chars().count()).max().unwrap_or(0);
        let width = longest.min(MOST_LETTERS).min((columns / 3).max(LEAST_RESPONSES));
        let room = columns.saturating_sub(2 + width + 2 + LAST);
        let has_longest = room >= LONGEST + LEAST_RESPONSES;
        let room = (if has_longest { room - LONGEST } else { room }).min(MOST_RESPONSES);
        let line = |load: &Load| {
            let latest = &load.times_ns[load.times_ns.len().saturating_sub(room)..];
            let bars: String = latest.iter().map(|ns| level(*ns, low_ns, high_ns)).collect();
            let last = load.times_ns.last().map_or_else(String::new, |ns| format_duration_ns(*ns));
            let name = shortened(&load.name, width);
            let line = format!("  {name:<width$}  {bars:<room$}  {last:>DURATION$}");
            match has_longest {
                true => {
                    format!("{line}  longest {:>DURATION$}", format_duration_ns(load.longest_ns))
                }
                false => line,
            }
        };
        shown.iter().map(line).collect()
    }
}

fn shortened(name: &str, most: usize) -> String {
    match name.chars().count() > most {
        true => name.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

/// A time as a letter, on a logarithmic scale from the shortest to the longest.
fn level(time_ns: f64, low_ns: f64, high_ns: f64) -> char {
    // Below a tenth of a nanosecond there is nothing to tell.
    let log = |ns: f64| ns.max(0.1).ln();
    let range = log(high_ns) - log(low_ns);
    // No response stands out where all are alike.
    let part = if range < 0.05 { 0.0 } else { (log(time_ns) - log(low_ns)) / range };
    LEVELS[((part * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)]
}

/// The largest parts of a delay; empty if no counter has any.
fn spent(explained: &Explained) -> String {
    if !is_counted(&explained.parts_ns) {
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
    let texts = texts.map(|(part, share)| format!("{} {:.0} %", part.title(), 100.0 * share));
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

    fn drawn(live: &Live, columns: usize) -> String {
        let lines = live.sparklines(columns, 10);
        assert!(lines.iter().all(|line| line.chars().count() <= columns), "{lines:?}");
        lines.into_iter().chain(live.worst()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_load_has_its_sparkline_and_the_slowest_its_reason() {
        let mut live = Live::default();
        assert_eq!(drawn(&live, 80), "", "nothing is shown of nothing");
        for (index, delay_ms) in [4, 4, 5].into_iter().enumerate() {
            live.on_line(0, "noload", &sample(index as u32, delay_ms, 0));
        }
        for (index, delay_ms) in [40, 400, 80].into_iter().enumerate() {
            live.on_line(1, "largewrite", &sample(index as u32, delay_ms, delay_ms / 2));
        }
        insta::assert_snapshot!(drawn(&live, 80), @r"
        noload      ▁▁▁                             5.00ms  longest 5.00ms
        largewrite  ▅█▆                             80.0ms  longest  400ms
        slowest so far: 400ms under largewrite: CPU wait 50 %, unexplained 50 %
        ");
        insta::assert_snapshot!(drawn(&live, 40), @r"
        noload      ▁▁▁                 5.00ms
        largewrite  ▅█▆                 80.0ms
        slowest so far: 400ms under largewrite: CPU wait 50 %, unexplained 50 %
        ");
    }

    #[test]
    fn work_is_shown_as_responses_are() {
        let mut live = Live::default();
        let work = r#"{"kind":"work","at_ns":9,"worker":3,"pass":0,"item":"compile","started_ns":1000000,"completed_ns":801000000,"usage":{}}"#;
        live.on_line(0, "noload", &Line::parse(work).unwrap());
        insta::assert_snapshot!(drawn(&live, 80), @r"
        noload  ▁                                800ms  longest  800ms
        slowest so far: 800ms under noload: compile of user 3
        ");
        let mut live = Live::default();
        let of_one = work.replace(r#""worker":3"#, r#""worker":0"#);
        live.on_line(0, "noload", &Line::parse(&of_one).unwrap());
        assert_eq!(live.worst().unwrap(), "  slowest so far: 800ms under noload: compile");
        let mut live = Live::default();
        for (number, elapsed_ns) in [(0, 90_000), (1, 1_500)] {
            let pass = format!(
                r#"{{"kind":"pass","at_ns":9,"worker":0,"pass":{number},"started_ns":0,"completed_ns":{elapsed_ns},"usage":{{"touches":1000}}}}"#
            );
            live.on_line(0, "noload", &Line::parse(&pass).unwrap());
        }
        insta::assert_snapshot!(drawn(&live, 80), @r"
        noload  █▁                              1.50ns  longest 90.0ns
        slowest so far: 90.0ns a touch under noload: pass 1
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
        assert_eq!(live.loads[0].times_ns.len(), MOST_RESPONSES);
        assert_eq!(live.sparklines(80, usize::MAX).len(), MOST_LOADS);
        assert_eq!(live.sparklines(80, 1).len(), 1);
        assert_eq!(live.sparklines(80, 0).len(), 0);
    }
}
