//! Where the user's commands run: in the user's folder, or, for a command that cannot be repeated
//! there, in views of the folder as it was before.
//!
//! A failure alone shows nothing: a command may crash now and then. The folder is the cause only if
//! the command fails in it again, right after its first repetition, and works on the folder as it
//! was. Any other failure is a result and counts.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io::{self, PipeWriter};
use std::path::{Path, PathBuf};

use model::{WorkEnd, WorkRecord};

use crate::children::send;
use crate::private_view::{PrivateView, names};
use crate::users::Message;

/// The folder of the commands, or the views of it.
pub(crate) struct Views<'a> {
    folder: &'a Path,
    /// Where views are made.
    scratch: PathBuf,
    /// For notes.
    writer: &'a PipeWriter,
    /// Names in the folder before the first repetition.
    names: BTreeSet<PathBuf>,
    /// How often each command worked.
    worked: BTreeMap<usize, u32>,
    view: Option<PrivateView>,
    was_tried: bool,
}

/// One repetition in the current folder.
type Once<'a, E> = &'a dyn Fn() -> Result<WorkRecord, E>;

impl<'a> Views<'a> {
    pub(crate) fn new(folder: &'a Path, scratch: PathBuf, writer: &'a PipeWriter) -> Self {
        let (names, worked) = (names(folder), BTreeMap::new());
        Self { folder, scratch, writer, names, worked, view: None, was_tried: false }
    }

    /// One repetition of a command.
    ///
    /// `is_repeatable` if failures are ignored, or something else undoes what it changes.
    pub(crate) fn repeat<E: From<io::Error>>(
        &mut self,
        (index, name): (usize, &str),
        is_repeatable: bool,
        once: Once<'_, E>,
    ) -> Result<WorkRecord, E> {
        let work = self.in_view(once)?;
        if work.failure.is_none() {
            *self.worked.entry(index).or_default() += 1;
        }
        let is_doubtful = matches!(work.end(), WorkEnd::Exited { code } if code != 0)
            && self.worked.get(&index) == Some(&1);
        if is_repeatable || self.was_tried || !is_doubtful {
            return Ok(work);
        }
        self.was_tried = true;
        // Whether the folder or chance is the cause.
        match self.in_view(once)?.failure {
            Some(why) => self.try_view(name, work, &why, once),
            None => Ok(work),
        }
    }

    /// The repetition in a view, if it works there, as do all further ones; else the one that failed.
    fn try_view<E: From<io::Error>>(
        &mut self,
        name: &str,
        failed: WorkRecord,
        why: &str,
        once: Once<'_, E>,
    ) -> Result<WorkRecord, E> {
        let folder = self.folder;
        let created: BTreeSet<PathBuf> = names(folder).difference(&self.names).cloned().collect();
        let listed: Vec<String> = created.iter().map(|name| name.display().to_string()).collect();
        let seen = format!("{name:?} worked once and then failed twice in its folder ({why})");
        let writer = self.writer;
        let note = |text: String| send(writer, &Message::Note(text));
        let view = match PrivateView::new(folder, self.scratch.clone(), created) {
            Ok(view) => view,
            Err(error) => {
                env::set_current_dir(folder)?;
                note(format!(
                    "{seen}: undo with --prepare CMD what it changes (a private view of its folder \
                     is not available: {error})"
                ))?;
                return Ok(failed);
            }
        };
        self.view = Some(view);
        let work = self.in_view(once)?;
        if work.failure.is_some() {
            self.view = None;
            env::set_current_dir(folder)?;
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

    fn in_view<E: From<io::Error>>(&self, once: Once<'_, E>) -> Result<WorkRecord, E> {
        let Some(view) = &self.view else { return once() };
        view.enter()?;
        let work = once();
        view.leave()?;
        work
    }
}
