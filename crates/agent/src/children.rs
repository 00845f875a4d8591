//! What forked children have in common: entering the sandbox, one pipe to the observer, their end.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use model::whole_lines;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sys::process::{signal, signals, wait};

/// Moves the calling process into control groups; fails with the path of one that refuses it.
pub(crate) fn enter_groups(groups: &[PathBuf]) -> io::Result<()> {
    groups.iter().try_for_each(|path| {
        fs::write(path, "0").map_err(|error| {
            io::Error::new(error.kind(), format!("enter {}: {error}", path.display()))
        })
    })
}

/// Makes the calling process the OOM killer's first choice.
pub(crate) fn prefer_as_oom_victim() {
    // Raising one's own score is always allowed; without /proc there is nothing to be done.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
}

/// Kills children, all at once, and waits for them.
pub(crate) fn end(pids: impl IntoIterator<Item = u32>) {
    let pids: Vec<u32> = pids.into_iter().collect();
    for pid in &pids {
        // One that is gone already is what we want.
        let _ = signal(*pid, signals::KILL);
    }
    for pid in pids {
        let _ = wait(pid, true);
    }
}

/// Buffer of a pipe to the observer in bytes, should it be late.
const PIPE_BYTES: usize = 1 << 20;

/// The observer's end.
pub(crate) struct Words {
    pipe: PipeReader,
    rest: Vec<u8>,
    /// Whether all who could say something are gone.
    pub(crate) ended: bool,
}

impl Words {
    /// A pipe; its writing end is for the children.
    pub(crate) fn pipe() -> io::Result<(Self, PipeWriter)> {
        let (pipe, writer) = wide_pipe()?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok((Self { pipe, rest: Vec::new(), ended: false }, writer))
    }

    /// What was said since the last look.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> io::Result<Vec<T>> {
        match self.pipe.read_to_end(&mut self.rest) {
            Ok(_) => self.ended = true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let whole = whole_lines::take(&mut self.rest);
        whole_lines::lines(&whole)
            .map(|line| serde_json::from_slice(line).map_err(io::Error::other))
            .collect()
    }
}

impl AsFd for Words {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

pub(crate) fn say(mut writer: &PipeWriter, word: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    writer.write_all(&line)
}

/// A pipe to the observer, whose buffer holds hours of short words.
pub(crate) fn wide_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    // A refusal (the user's pipe quota) only means that children wait sooner for a late observer.
    let _ = rustix::pipe::fcntl_setpipe_size(&writer, PIPE_BYTES);
    Ok((reader, writer))
}
