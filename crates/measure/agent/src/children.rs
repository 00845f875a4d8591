//! Code that all forked children share: entering the sandbox, and a pipe to the observer.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use keep::io_results::at;
use model::whole_lines;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Moves the calling process into control groups; fails with the path of the failing one.
pub(crate) fn enter_groups(groups: &[PathBuf]) -> io::Result<()> {
    let enter =
        |path: &PathBuf| fs::write(path, "0").map_err(at(format_args!("enter {}", path.display())));
    groups.iter().try_for_each(enter)
}

/// Makes the calling process the OOM killer's first choice.
pub(crate) fn prefer_as_oom_victim() {
    // Raising one's own score is always allowed.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
}

/// Size of a pipe to the observer in bytes, large in case it is late.
const PIPE_BYTES: usize = 1 << 20;

pub(crate) struct Messages {
    pipe: PipeReader,
    rest: Vec<u8>,
    /// Whether all writers have closed it.
    pub(crate) ended: bool,
}

impl Messages {
    pub(crate) fn pipe() -> io::Result<(Self, PipeWriter)> {
        let (pipe, writer) = wide_pipe()?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok((Self { pipe, rest: Vec::new(), ended: false }, writer))
    }

    /// The messages since the last call.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> io::Result<Vec<T>> {
        match self.pipe.read_to_end(&mut self.rest) {
            Ok(_) => self.ended = true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let whole = whole_lines::take(&mut self.rest);
        whole_lines::lines(&whole)
            .map(|line| model::json::from_bytes(line).map_err(io::Error::other))
            .collect()
    }
}

impl AsFd for Messages {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

pub(crate) fn send(mut writer: &PipeWriter, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    writer.write_all(&line)
}

/// A pipe to the observer with room for hours of short messages.
pub(crate) fn wide_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    // Without it (the user's pipe quota) children only wait earlier for a late observer.
    let _ = rustix::pipe::fcntl_setpipe_size(&writer, PIPE_BYTES);
    Ok((reader, writer))
}
