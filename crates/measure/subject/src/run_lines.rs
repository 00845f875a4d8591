//! The lines of a run on their way to its file.

use std::io;

use agent::Due;
use model::{
    Censored, DeathRecord, EndStatus, Line, Phase, RunEncoder, Spec, Warning, whole_lines,
};

/// Takes lines with newline, and parsed, perhaps without counters, or `None` if it is not a line of a
/// run.
pub type Sink<'a> = dyn FnMut(&[u8], Option<&Line>) -> io::Result<()> + 'a;

/// The output of a run, cut into whole lines; a line that is cut off is never passed on.
#[derive(Default)]
pub struct RunLines {
    rest: Vec<u8>,
    encoder: RunEncoder,
    written: bool,
    /// The time of the last line that has one, in ns from the start of the run.
    pub last_ns: u64,
    /// How the run ended, by its `end` line.
    pub status: Option<EndStatus>,
    spec: Option<Spec>,
    /// The starts without a line so far, while the run measures.
    due: Option<Due>,
}

impl RunLines {
    /// Passes on what has become whole.
    pub fn push(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> io::Result<()> {
        self.rest.extend_from_slice(bytes);
        let whole = whole_lines::take(&mut self.rest);
        whole_lines::lines(&whole).try_for_each(|line| self.line(line, sink))
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink<'_>) -> io::Result<()> {
        self.encoder.foreign(line);
        self.written = true;
        let text = str::from_utf8(line).ok();
        let read = text.and_then(|text| Line::parse_without_counters(text.trim_end()).ok());
        match &read {
            Some(Line::End(end)) => self.status = Some(end.status),
            Some(other) => {
                self.last_ns = other.at_ns().unwrap_or(self.last_ns);
                self.follow(other);
            }
            None => {}
        }
        sink(line, read.as_ref())
    }

    fn follow(&mut self, line: &Line) {
        match line {
            Line::Header(header) => self.spec = Some(header.spec.clone()),
            Line::Phase(record) => {
                let measures = record.phase == Phase::Measuring;
                let spec = self.spec.as_ref().filter(|_| measures);
                self.due = spec.and_then(|spec| Due::new(spec, record.at_ns));
            }
            line => self.due.iter_mut().for_each(|due| due.account(line)),
        }
    }

    /// Adds a warning to a run that has begun and not ended.
    pub fn warn(&mut self, text: &str, sink: &mut Sink<'_>) -> io::Result<()> {
        let warning = Warning { at_ns: self.last_ns, text: text.to_owned() };
        self.add(&Line::Warning(warning), sink)
    }

    fn add(&mut self, line: &Line, sink: &mut Sink<'_>) -> io::Result<()> {
        if !self.written || self.status.is_some() {
            return Ok(());
        }
        self.line((line.to_json() + "\n").as_bytes(), sink)
    }

    /// Ends a run that could not write its own end, `at_ns` from its start: censors all due starts,
    /// adds the death and the `end` line. Does nothing if the run has ended or not begun.
    pub fn end_early(
        &mut self,
        at_ns: u64,
        status: EndStatus,
        death: Option<DeathRecord>,
        sink: &mut Sink<'_>,
    ) -> io::Result<()> {
        if !self.written || self.status.is_some() {
            return Ok(());
        }
        let at_ns = at_ns.max(self.last_ns);
        let why = match status {
            EndStatus::Timeout => Censored::Timeout,
            _ => Censored::RunEnded,
        };
        if let Some(due) = self.due.take() {
            for line in due.censored(why, at_ns).map_err(io::Error::other)? {
                self.add(&line, sink)?;
            }
        }
        if let Some(death) = death {
            self.add(&Line::Death(Box::new(death)), sink)?;
        }
        let end = self.encoder.end(at_ns, status);
        self.status = Some(status);
        sink(end.as_bytes(), Line::parse(end.trim_end()).ok().as_ref())
    }
}

#[cfg(test)]
mod tests {
    use model::{Observation, Run};

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Lines of a run of the default profile: five starts, one every 2 s from its origin, which is
    /// 1 s from the start of the run.
    fn head(probe: &str) -> String {
        let header = format!(
            r#"{{"kind":"header","schema":1,"run_id":"a","thrashlab":"0","started_unix_ns":0,"spec":{{"subject":{{"kind":"host","memory_bytes":1048576}},"load":{{"name":"noload","version":1,"intensity":1.0}},"probe":{{"name":"{probe}","version":1,"params":{{"period_ns":4000000}}}},"timing":{{"profile":"default","interval_ns":2000000000,"points":5,"warmup_ns":0,"timeout_ns":10000000000}},"seed":1,"block":0,"order":0}},"environment":{{}},"missed":[]}}"#
        );
        format!("{header}\n{{\"kind\":\"phase\",\"at_ns\":998000000,\"phase\":\"measuring\"}}\n")
    }

    fn sample(index: u64) -> String {
        let intended_ns = (1 + 2 * (index + 1)) * SECOND_NS;
        let completed_ns = intended_ns + SECOND_NS / 1000;
        format!(
            r#"{{"kind":"sample","at_ns":{completed_ns},"index":{index},"intended_ns":{intended_ns},"started_ns":{intended_ns},"completed_ns":{completed_ns},"before":{{}},"after":{{}}}}"#
        ) + "\n"
    }

    /// The run that becomes of these bytes when it is ended early.
    fn ended(bytes: &str, at_ns: u64, status: EndStatus) -> Run {
        let mut written = Vec::new();
        let mut sink = |bytes: &[u8], _: Option<&Line>| -> io::Result<()> {
            written.extend_from_slice(bytes);
            Ok(())
        };
        let mut lines = RunLines::default();
        lines.push(bytes.as_bytes(), &mut sink).expect("a sink that takes all");
        let death = DeathRecord { at_ns, cause: "the end".to_owned(), log: Vec::new() };
        for _ in 0..2 {
            let death = Some(death.clone());
            lines.end_early(at_ns, status, death, &mut sink).expect("a sink that takes all");
        }
        Run::parse(&written).expect("a valid run")
    }

    fn delays(run: &Run) -> Vec<Observation> {
        run.samples().map(model::SampleRecord::delay).collect()
    }

    #[test]
    fn a_run_that_cannot_write_its_end_gets_every_due_start() {
        let bytes = head("response") + &sample(0) + &sample(1);
        let run = ended(&bytes, 17 * SECOND_NS, EndStatus::Killed);
        assert_eq!((run.status(), run.checksum_ok), (EndStatus::Killed, Some(true)));
        let fast = Observation::exact(1e6);
        let bounds = [10e9, 8e9, 6e9].map(Observation::at_least);
        assert_eq!(delays(&run), [[fast, fast].as_slice(), &bounds].concat());
        assert!(run.samples().skip(2).all(|cut| cut.censored == Some(Censored::RunEnded)));
        let deaths = run.lines.iter().filter(|line| matches!(line, Line::Death(_)));
        assert_eq!(deaths.count(), 1);
    }

    #[test]
    fn what_has_its_line_or_is_not_due_is_not_written_again() {
        let bytes = head("response") + &sample(0);
        assert_eq!(delays(&ended(&bytes, 4 * SECOND_NS, EndStatus::Interrupted)).len(), 1);
        let stopped =
            bytes.clone() + "{\"kind\":\"phase\",\"at_ns\":4000000000,\"phase\":\"stopped\"}\n";
        assert_eq!(delays(&ended(&stopped, 60 * SECOND_NS, EndStatus::Killed)).len(), 1);
        let warming = head("response").replace("measuring", "warming");
        assert_eq!(delays(&ended(&warming, 60 * SECOND_NS, EndStatus::Killed)).len(), 0);
    }

    #[test]
    fn wake_ups_that_never_came_are_in_one_histogram() {
        let run = ended(&head("wake"), 6 * SECOND_NS, EndStatus::KernelDied);
        let [Line::Histogram(record)] =
            run.lines.iter().filter(|line| matches!(line, Line::Histogram(_))).collect::<Vec<_>>()
                [..]
        else {
            panic!("{:?}", run.lines);
        };
        // From 1 s to 6 s at one every 4 ms.
        let count = record.censored.as_ref().map_or(0, |censored| censored.count);
        assert!((1249..=1251).contains(&count), "{count}");
    }
}
