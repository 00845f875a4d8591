//! Where the user's commands run: in the user's folder, or, for a command that cannot be repeated
//! there, in views of the folder as it was before.
//!
//! A failure alone shows nothing: a command may crash now and then. The folder is the cause only if
//! the command fails in it again, right after its first repetition, and works on the folder as it
//! was. Any other failure is a result and counts.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::PathBuf;

use model::{WorkEnd, WorkRecord};
use workloads::{Hook, hook};

use crate::children::send;
use crate::command::{Runner, Stop, ignores_failures};
use crate::issued::Issuer;
use crate::private_view::{PrivateView, names};
use crate::users::Message;

/// The folder of the commands, or the views of it.
pub(crate) struct Views<'a> {
    runner: &'a Runner<'a>,
    /// Names in the folder before the first repetition.
    names: BTreeSet<PathBuf>,
    /// How often each command worked.
    worked: BTreeMap<usize, u32>,
    view: Option<PrivateView>,
    was_tried: bool,
}

impl<'a> Views<'a> {
    pub(crate) fn new(runner: &'a Runner<'a>) -> Self {
        let (names, worked) = (names(&runner.folder), BTreeMap::new());
        Self { runner, names, worked, view: None, was_tried: false }
    }

    /// One repetition of a command.
    pub(crate) fn repeat(
        &mut self,
        issuer: &Issuer<'_>,
        index: usize,
        pass: u32,
    ) -> Result<WorkRecord, Stop> {
        let work = self.in_view(issuer, index, pass)?;
        if work.failure.is_none() {
            *self.worked.entry(index).or_default() += 1;
        }
        let is_doubtful = matches!(work.end(), WorkEnd::Exited { code } if code != 0)
            && self.worked.get(&index) == Some(&1);
        let job = self.runner.job;
        let is_repeatable = ignores_failures(job) || hook(job, Hook::Prepare).is_some();
        if is_repeatable || self.was_tried || !is_doubtful {
            return Ok(work);
        }
        self.was_tried = true;
        // Whether the folder or chance is the cause.
        match self.in_view(issuer, index, pass)?.failure {
            Some(why) => self.try_view(issuer, index, work, &why),
            None => Ok(work),
        }
    }

    /// The repetition in a view, if it works there, as do all further ones; else the one that failed.
    fn try_view(
        &mut self,
        issuer: &Issuer<'_>,
        index: usize,
        failed: WorkRecord,
        why: &str,
    ) -> Result<WorkRecord, Stop> {
        let runner = self.runner;
        let created: BTreeSet<PathBuf> =
            names(&runner.folder).difference(&self.names).cloned().collect();
        let listed: Vec<String> = created.iter().map(|name| name.display().to_string()).collect();
        let seen = format!(
            "{:?} worked once and then failed twice in its folder ({why})",
            runner.wanted.commands[index].name
        );
        let note = |text: String| send(runner.side.writer, &Message::Note(text));
        let scratch = runner.assignment.work_dir.join("view");
        let view = match PrivateView::new(&runner.folder, scratch, created) {
            Ok(view) => view,
            Err(error) => {
                env::set_current_dir(&runner.folder)?;
                note(format!(
                    "{seen}: undo with --prepare CMD what it changes (a private view of its folder \
                     is not available: {error})"
                ))?;
                return Ok(failed);
            }
        };
        self.view = Some(view);
        let work = self.in_view(issuer, index, failed.pass)?;
        if work.failure.is_some() {
            self.view = None;
            env::set_current_dir(&runner.folder)?;
            return Ok(failed);
        }
        let without = match listed.is_empty() {
            true => String::new(),
            false => format!(", without {}", listed.join(", ")),
        };
        note(format!(
            "{seen}, and works on the folder as it was before, so each further repetition sees it \
             like that{without}, and what it changes there is discarded; --prepare CMD would undo \
             it in the folder itself"
        ))?;
        Ok(work)
    }

    fn in_view(&self, issuer: &Issuer<'_>, index: usize, pass: u32) -> Result<WorkRecord, Stop> {
        let Some(view) = &self.view else { return self.runner.once(issuer, index, pass) };
        view.enter()?;
        let work = self.runner.once(issuer, index, pass);
        view.leave()?;
        work
    }
}
