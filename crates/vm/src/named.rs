//! The name of a run, given outside the guest. A guest that knew its run's name would execute other
//! instructions for each name. So all guests use one name, which is replaced here.

use std::io;

use model::{EndStatus, Line, RunEncoder};
use subject::{RunLines, Sink};

use crate::{Result, VmError};

/// The name that a run has in its guest, and in a folder of finished cells.
pub const IN_GUEST: &str = "run";

/// Passes a finished cell on under the name of a run; returns how it ended. Fails as `sink`.
pub fn replay(bytes: &[u8], run_id: &str, sink: &mut Sink<'_>) -> Result<EndStatus> {
    let (mut lines, mut name) = (RunLines::default(), RunRenamer::new(run_id));
    let mut named = |bytes: &[u8], line: Option<&Line>| name.line(bytes, line, sink);
    lines.push(bytes, &mut named).map_err(VmError::Results)?;
    Ok(lines.status.unwrap_or(EndStatus::Killed))
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
        match line {
            Some(Line::Header(header)) => {
                let mut header = header.clone();
                self.run_id.clone_into(&mut header.run_id);
                let line = Line::Header(header);
                let text = self.encoder.line(&line);
                sink(text.as_bytes(), Some(&line))
            }
            Some(Line::End(end)) => {
                let encoder = std::mem::take(&mut self.encoder);
                let text = encoder.end(end.at_ns, end.status);
                sink(text.as_bytes(), Line::parse(text.trim_end()).ok().as_ref())
            }
            other => {
                self.encoder.foreign(bytes);
                sink(bytes, other)
            }
        }
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
