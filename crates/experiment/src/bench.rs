//! Where runs are measured one at a time: the stage of this machine, or a session on another.

use std::io;
use std::path::Path;

use agent::Waiter;
use model::{EndStatus, Environment, REMOTE_FACT, Run, Spec};
use remote::{Heard, Session};
use subject::Stage;

use crate::error::ExperimentError;
use crate::event::Event;
use crate::made::{Made, Output};

/// A machine that is measured.
pub enum Bench<'a> {
    /// This one.
    Stage(&'a mut Stage),
    /// Another one.
    Remote(&'a mut Session),
}

impl Bench<'_> {
    /// Waits until the last run has no effect on the next. A session does so by itself.
    pub(crate) fn settle(&self, waiter: &Waiter) {
        if let Self::Stage(stage) = self {
            stage.settle(waiter);
        }
    }

    /// Makes one run and writes it into a folder; its lines are events of the segment `index`.
    pub(crate) fn run(
        &mut self,
        spec: &Spec,
        run_id: &str,
        index: usize,
        folder: &Path,
        waiter: &Waiter,
        on_event: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Made, ExperimentError> {
        let mut output = Output::new(folder, run_id);
        let mut hear = |heard: Heard<'_>| -> io::Result<()> {
            match heard {
                Heard::Note(text) => on_event(&Event::Note { text }),
                Heard::Line(bytes, line) => {
                    output.line(bytes)?;
                    if let Some(line) = line {
                        on_event(&Event::Line { index, line });
                    }
                }
            }
            Ok(())
        };
        let outcome = match self {
            Self::Stage(stage) => stage
                .run(spec, run_id, waiter, &mut |bytes, line| hear(Heard::Line(bytes, line)))?,
            Self::Remote(session) => session.run(spec, run_id, folder, waiter, &mut hear)?,
        };
        Ok(output.made(outcome.death)?)
    }

    /// The machine's address, if it is another one.
    pub(crate) fn address(&self) -> Option<String> {
        match self {
            Self::Stage(_) => None,
            Self::Remote(session) => Some(session.address().to_string()),
        }
    }
}

/// Whether a run was made on this machine (`None`) or the one of this address.
pub(crate) fn is_of_machine(facts: &Environment, address: Option<&str>) -> bool {
    facts.get(REMOTE_FACT).map(String::as_str) == address
}

/// Whether a run ended by itself and is what was written: another one would not be better.
pub(crate) fn has_ended(run: &Run) -> bool {
    run.checksum_ok != Some(false)
        && !matches!(run.status(), EndStatus::Interrupted | EndStatus::Killed)
}
