//! The name of a run, given outside the guest. A guest that knew its run's name would execute other
//! instructions for each name. So all guests use one name, which is replaced here, and finished cells
//! are kept under it.

use std::borrow::Cow;
use std::io;

use keep::Cells;
use model::{Line, Run, RunEncoder, whole_lines};
use subject::{Outcome, Sink};

use crate::VmError;

/// The name that a run has in its guest, and in a folder of finished cells.
pub const IN_GUEST: &str = "run";

/// A run of a cell.
pub struct CellRun {
    /// How it came to its end.
    pub outcome: Outcome,
    /// The run as it was read, if it is a finished one.
    pub finished: Option<Box<Run>>,
}

/// Passes on the run of a cell under a name: the finished one of this key, or one that `make` makes as
/// [`IN_GUEST`], which is kept if it would always end so. Fails as `make` and `sink`, or when it cannot
/// be kept.
pub fn run_cell<E: From<VmError>>(
    cells: Option<&Cells>,
    key: &str,
    run_id: &str,
    sink: &mut Sink<'_>,
    make: impl FnOnce(&mut Sink<'_>) -> Result<Outcome, E>,
) -> Result<CellRun, E> {
    if let Some((run, bytes)) = cells.and_then(|cells| cells.get(key)) {
        let run = replay(run, &bytes, run_id, sink).map_err(VmError::Results)?;
        let outcome = Outcome { status: run.status(), death: None };
        return Ok(CellRun { outcome, finished: Some(Box::new(run)) });
    }
    let (mut made, mut name) = (Vec::new(), RunRenamer::new(run_id));
    let outcome = make(&mut |bytes: &[u8], line: Option<&Line>| {
        made.extend_from_slice(bytes);
        name.line(bytes, line, sink)
    })?;
    if let Some(cells) = cells.filter(|_| Cells::is_certain(outcome.status)) {
        cells.keep(key, &made).map_err(VmError::cache(&cells.folder))?;
    }
    Ok(CellRun { outcome, finished: None })
}

/// Passes a finished run on under another name; returns it as its new file would be read.
fn replay(run: Run, bytes: &[u8], run_id: &str, sink: &mut Sink<'_>) -> io::Result<Run> {
    let mut name = RunRenamer::new(run_id);
    let mut named = Run { header: None, lines: Vec::new(), ..run };
    let header = run.header.map(|header| Line::Header(Box::new(header)));
    for (raw, line) in whole_lines::lines(bytes).zip(header.into_iter().chain(run.lines)) {
        let (line, text) = match name.renamed(&line) {
            Some((line, text)) => (line, Cow::Owned(text.into_bytes())),
            None => (line, Cow::Borrowed(raw)),
        };
        name.encoder.foreign(&text);
        sink(&text, Some(&line))?;
        match line {
            Line::Header(header) => named.header = Some(*header),
            line => named.lines.push(line),
        }
    }
    Ok(named)
}

/// Gives the lines of a guest the name of their run, and the checksum that goes with it.
pub(crate) struct RunRenamer<'a> {
    run_id: &'a str,
    encoder: RunEncoder,
}

impl<'a> RunRenamer<'a> {
    /// Lines of a run of this name.
    pub(crate) fn new(run_id: &'a str) -> Self {
        Self { run_id, encoder: RunEncoder::default() }
    }

    /// Passes a line on. Fails as `sink`.
    pub(crate) fn line(
        &mut self,
        bytes: &[u8],
        line: Option<&Line>,
        sink: &mut Sink<'_>,
    ) -> io::Result<()> {
        let renamed = line.and_then(|line| self.renamed(line));
        let (line, bytes) = match &renamed {
            Some((line, text)) => (Some(line), text.as_bytes()),
            None => (line, bytes),
        };
        self.encoder.foreign(bytes);
        sink(bytes, line)
    }

    /// A line that has the name or the checksum, as it is in the run of this name, and its text.
    fn renamed(&self, line: &Line) -> Option<(Line, String)> {
        let text = match line {
            Line::Header(header) => {
                let mut header = header.clone();
                self.run_id.clone_into(&mut header.run_id);
                Line::Header(header).to_json() + "\n"
            }
            Line::End(end) => self.encoder.end(end.at_ns, end.status),
            _ => return None,
        };
        Some((Line::parse(text.trim_end()).ok()?, text))
    }
}

#[cfg(test)]
mod tests {
    use model::{EndStatus, Run, Warning};

    use super::*;

    #[test]
    fn a_run_has_its_name_and_a_checksum_that_fits() {
        let header = "{\"kind\":\"header\",\"schema\":1,\"run_id\":\"run\",\"thrashlab\":\"0\",\
             \"started_unix_ns\":0,\"spec\":{\"subject\":{\"kind\":\"host\",\"memory_bytes\":1},\
             \"load\":{\"name\":\"noload\",\"version\":1,\"intensity\":1.0,\"params\":{}},\
             \"probe\":{\"name\":\"wake\",\"version\":1,\"params\":{}},\"timing\":{\"profile\":\"x\",\
             \"interval_ns\":1,\"points\":1,\"warmup_ns\":0,\"timeout_ns\":1},\"seed\":1,\"block\":0,\
             \"order\":0},\"environment\":{},\"missed\":[]}\n"
            .replace("             ", "");
        let warning = Line::Warning(Warning { at_ns: 3, text: "hot".to_owned() }).to_json() + "\n";
        let mut original = RunEncoder::default();
        original.foreign(header.as_bytes());
        original.foreign(warning.as_bytes());
        let end = original.end(5, EndStatus::Complete);
        let mut named = RunRenamer::new("03-old-seed2");
        let mut bytes = Vec::new();
        for text in [&header, &warning, &end] {
            let line = Line::parse(text.trim_end()).unwrap();
            let mut sink = |bytes_now: &[u8], _: Option<&Line>| {
                bytes.extend_from_slice(bytes_now);
                Ok(())
            };
            named.line(text.as_bytes(), Some(&line), &mut sink).unwrap();
        }
        let run = Run::parse(&bytes).unwrap();
        assert_eq!(run.header.unwrap().run_id, "03-old-seed2");
        assert_eq!(run.checksum_ok, Some(true));
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(
            text.lines().next().unwrap(),
            header.trim_end().replace("\"run\"", "\"03-old-seed2\"")
        );
    }
}
