//! The lines of a run on their way from where it is made to its file.

use std::io;

use model::{EndStatus, Line, RunEncoder, Warning};

/// What takes the lines of a run as they come: each with its newline, and as it reads; `None` if it
/// is not a line of a run file. Read here once, because a sample has hundreds of counters.
pub type Sink<'a> = dyn FnMut(&[u8], Option<&Line>) -> io::Result<()> + 'a;

/// The output of a run, cut into whole lines; a line that is cut off is never passed on.
#[derive(Default)]
pub struct RunLines {
    rest: Vec<u8>,
    encoder: RunEncoder,
    written: bool,
    last_ns: u64,
    status: Option<EndStatus>,
}

impl RunLines {
    /// Passes on what has become whole.
    ///
    /// # Errors
    /// When the sink does not take it.
    pub fn push(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> io::Result<()> {
        self.rest.extend_from_slice(bytes);
        let Some(last) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        let rest = self.rest.split_off(last + 1);
        let whole = std::mem::replace(&mut self.rest, rest);
        whole.split_inclusive(|byte| *byte == b'\n').try_for_each(|line| self.line(line, sink))
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink<'_>) -> io::Result<()> {
        self.encoder.foreign(line);
        self.written = true;
        let read = Line::parse(String::from_utf8_lossy(line).trim_end()).ok();
        match &read {
            Some(Line::End(end)) => self.status = Some(end.status),
            Some(other) => self.last_ns = other.at_ns().unwrap_or(self.last_ns),
            None => {}
        }
        sink(line, read.as_ref())
    }

    /// How the run says that it ended; `None` without its `end` line.
    #[must_use]
    pub fn status(&self) -> Option<EndStatus> {
        self.status
    }

    /// Whether the run has written anything.
    #[must_use]
    pub fn any(&self) -> bool {
        self.written
    }

    /// The moment of the last line that has one, in ns from the start of the run.
    #[must_use]
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// Adds a warning to a run that has begun and not ended.
    ///
    /// # Errors
    /// When the sink does not take it.
    pub fn warn(&mut self, text: &str, sink: &mut Sink<'_>) -> io::Result<()> {
        if !self.written || self.status.is_some() {
            return Ok(());
        }
        let warning = Warning { at_ns: self.last_ns, text: text.to_owned() };
        let line = Line::Warning(warning).to_json() + "\n";
        self.line(line.as_bytes(), sink)
    }

    /// Adds the `end` line that a run could not write itself.
    ///
    /// # Errors
    /// When the sink does not take it.
    pub fn end(&mut self, at_ns: u64, status: EndStatus, sink: &mut Sink<'_>) -> io::Result<()> {
        if !self.written || self.status.is_some() {
            return Ok(());
        }
        let end = self.encoder.end(at_ns, status);
        self.status = Some(status);
        sink(end.as_bytes(), Line::parse(end.trim_end()).ok().as_ref())
    }
}
