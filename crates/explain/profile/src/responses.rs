//! The responses of a run, and the times at which the counts of its profile are cut.

use model::{EndStatus, Line, Run};
use serde::{Deserialize, Serialize};

/// A response, or a command of a job: from its intended start to its completion, in ns of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// Its number in the run.
    pub index: u32,
    /// The worker of a job whose command it is.
    #[serde(default, skip_serializing_if = "is_first")]
    pub worker: u32,
    /// Its intended start.
    pub intended_ns: u64,
    /// Its completion, or the time at which it was given up.
    pub end_ns: u64,
    /// Whether it completed.
    pub is_complete: bool,
}

fn is_first(worker: &u32) -> bool {
    *worker == 0
}

impl Response {
    /// Its delay, a lower bound if it did not complete.
    pub fn delay_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.intended_ns)
    }
}

/// The responses of a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Responses {
    /// Each of them.
    pub all: Vec<Response>,
    /// Whether they are commands of a job, such as the repetitions of a program.
    pub are_commands: bool,
    /// The last timestamp of the run, in ns.
    pub end_ns: u64,
    /// Other times at which the counts are cut, in ns of the run.
    pub cuts_ns: Vec<u64>,
    /// Why the kernel died, if it did.
    pub death: Option<String>,
}

impl Responses {
    /// Responses of a run file, and other times at which the counts are cut, up to the end of the
    /// run.
    pub fn of(run: &Run, cuts_ns: &[u64]) -> Self {
        let sample = |line: &Line| match line {
            Line::Sample(sample) => Some(Response {
                index: sample.index,
                worker: 0,
                intended_ns: sample.intended_ns,
                end_ns: sample.intended_ns + sample.delay_ns(),
                is_complete: sample.completed_ns.is_some(),
            }),
            _ => None,
        };
        let mut all: Vec<Response> = run.lines.iter().filter_map(sample).collect();
        let are_commands = all.is_empty();
        if are_commands {
            all = commands(run);
        }
        let end_ns = run.lines.iter().filter_map(Line::at_ns).max().unwrap_or(0);
        let cuts_ns = cuts_ns.iter().map(|cut_ns| *cut_ns.min(&end_ns)).collect();
        // Loads die, too.
        let is_kernel_dead = run
            .lines
            .iter()
            .any(|line| matches!(line, Line::End(end) if end.status == EndStatus::KernelDied));
        let death = run.lines.iter().find_map(|line| match line {
            Line::Death(death) if is_kernel_dead => Some(death.cause.clone()),
            _ => None,
        });
        Self { all, are_commands, end_ns, cuts_ns, death }
    }

    /// Responses that completed.
    pub fn complete(&self) -> Vec<Response> {
        self.all.iter().filter(|response| response.is_complete).copied().collect()
    }

    /// The response with a number. The error says which ones there are.
    pub fn find(&self, index: u32) -> Result<Response, String> {
        let found = self.all.iter().find(|response| response.index == index);
        found.copied().ok_or_else(|| match self.all.last() {
            Some(last) => format!("the run has none; the last one is {}", last.index),
            None => "the run has none".to_owned(),
        })
    }

    /// The times at which the counts are cut, ascending, without repetition.
    pub fn times_ns(&self) -> Vec<u64> {
        let ends = self.all.iter().flat_map(|response| [response.intended_ns, response.end_ns]);
        let cuts = self.cuts_ns.iter().copied();
        let mut times: Vec<u64> = ends.chain(cuts).chain([0, self.end_ns]).collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    /// The median delay, in ns; of an even number the lower one.
    pub fn median_ns(&self) -> Option<u64> {
        let mut delays: Vec<u64> = self.all.iter().map(Response::delay_ns).collect();
        delays.sort_unstable();
        delays.get(delays.len().checked_sub(1)? / 2).copied()
    }

    /// Responses with a delay above the median.
    pub fn slow(&self) -> Vec<Response> {
        let median_ns = self.median_ns().unwrap_or(0);
        self.all.iter().filter(|response| response.delay_ns() > median_ns).copied().collect()
    }
}

/// The commands of a job, by their starts.
fn commands(run: &Run) -> Vec<Response> {
    let command = |line: &Line| match line {
        Line::Work(work) => Some(Response {
            index: 0,
            worker: work.worker,
            intended_ns: work.started_ns,
            end_ns: work.completed_ns.or(work.censored_at_ns)?,
            is_complete: work.completed_ns.is_some(),
        }),
        _ => None,
    };
    let mut commands: Vec<Response> = run.lines.iter().filter_map(command).collect();
    commands.sort_by_key(|command| (command.intended_ns, command.worker));
    for (index, command) in (0..).zip(&mut commands) {
        command.index = index;
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slow_ones_are_above_the_median() {
        let response = |index, intended_ns, end_ns| Response {
            index,
            worker: 0,
            intended_ns,
            end_ns,
            is_complete: true,
        };
        let all = vec![response(0, 10, 12), response(1, 20, 29), response(2, 29, 32)];
        let responses = Responses { all, end_ns: 40, cuts_ns: vec![20], ..Responses::default() };
        assert_eq!(responses.median_ns(), Some(3));
        assert_eq!(responses.slow(), [response(1, 20, 29)]);
        assert_eq!(responses.times_ns(), [0, 10, 12, 20, 29, 32, 40]);
        assert_eq!(Responses::default().median_ns(), None);
    }

    #[test]
    fn the_death_of_a_load_is_not_the_kernel_s() {
        let death = r#"{"kind":"death","at_ns":5,"cause":"worker 2: killed"}"#;
        for (status, expected) in
            [("load-died", None), ("kernel-died", Some("worker 2: killed".to_owned()))]
        {
            let end = format!(r#"{{"kind":"end","at_ns":9,"status":"{status}","blake3":""}}"#);
            let lines = [death, end.as_str()].map(|line| Line::parse(line).unwrap()).to_vec();
            assert_eq!(Responses::of(&Run { lines, ..Run::default() }, &[]).death, expected);
        }
    }

    #[test]
    fn commands_of_a_job_are_numbered_by_their_starts() {
        let line = |worker, started_ns, end: &str| {
            let text = format!(
                r#"{{"kind":"work","at_ns":99,"worker":{worker},"pass":0,"item":"x","started_ns":{started_ns},{end},"usage":{{}}}}"#
            );
            Line::parse(&text).unwrap()
        };
        let lines = vec![
            line(1, 20, r#""completed_ns":30"#),
            line(0, 10, r#""completed_ns":40"#),
            line(0, 40, r#""censored_at_ns":50"#),
        ];
        let responses = Responses::of(&Run { lines, ..Run::default() }, &[]);
        assert!(responses.are_commands);
        let found: Vec<_> =
            responses.all.iter().map(|it| (it.index, it.worker, it.end_ns)).collect();
        assert_eq!(found, [(0, 0, 40), (1, 1, 30), (2, 0, 50)]);
        assert_eq!(responses.complete().len(), 2);
    }
}
