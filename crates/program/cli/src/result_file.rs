//! A file that a command writes, opened before the command begins its work: a name that cannot be
//! written is refused at once, and not after an hour of measuring.
//!
//! An argument has this type, and [`open_all`] opens what the command line names. Nothing changes
//! in the folder until the file is written.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use clap::ArgMatches;
use keep::out_file::{OutFile, write_whole};

use crate::Result;

/// Standard output, as the name of a file.
const STANDARD_OUTPUT: &str = "-";

/// The file of an argument. Clones share what is open.
#[derive(Clone, Debug)]
pub(crate) struct ResultFile {
    path: PathBuf,
    opened: Arc<Mutex<Option<(OutFile, File)>>>,
}

impl From<OsString> for ResultFile {
    fn from(path: OsString) -> Self {
        Self { path: path.into(), opened: Arc::default() }
    }
}

impl ResultFile {
    /// Its path; `None` is standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        (self.path.as_os_str() != STANDARD_OUTPUT).then_some(&self.path)
    }

    /// Writes it, complete or not at all. A second time replaces the first.
    pub(crate) fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        let written = match opened {
            Some((out, mut file)) => file.write_all(bytes).and_then(|()| out.finish()),
            None => write_whole(&self.path, bytes),
        };
        written.with_context(|| format!("write {}", self.path.display()))
    }

    /// The error without the name of the file that was tried in its place.
    fn why(&self, error: &io::Error) -> String {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder.filter(|_| error.kind() == io::ErrorKind::NotFound) {
            Some(folder) if !folder.exists() => format!("there is no folder {}", folder.display()),
            _ if error.get_ref().is_none() || error.kind() == io::ErrorKind::TimedOut => {
                error.to_string()
            }
            _ => error.kind().to_string(),
        }
    }

    fn open(&self) -> io::Result<()> {
        if self.path().is_some() {
            let opened = OutFile::create(&self.path)?;
            *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        }
        Ok(())
    }
}

/// Opens the files that a command line names, of the command and those above it. Fails with the
/// option whose file cannot be written.
pub(crate) fn open_all(matches: &ArgMatches) -> Result<()> {
    let mut next = Some(matches);
    while let Some(matches) = next {
        for id in matches.ids() {
            // Other arguments have other types.
            let files = matches.try_get_many::<ResultFile>(id.as_str()).ok().flatten();
            for file in files.into_iter().flatten() {
                file.open().map_err(|error| {
                    wrong!("--{id} {}: {}", file.path.display(), file.why(&error))
                })?;
            }
        }
        next = matches.subcommand().map(|(_, matches)| matches);
    }
    Ok(())
}
