//! What children tell the observer through one pipe: lines of JSON, each shorter than a pipe's
//! atomic write.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use model::whole_lines;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Buffer of the pipe in bytes, should the observer be late.
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
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn pipe() -> io::Result<(Self, PipeWriter)> {
        let (pipe, writer) = io::pipe()?;
        // A refusal (the user's pipe quota) leaves the default size, which only means that children
        // wait sooner should the observer be late.
        let _ = rustix::pipe::fcntl_setpipe_size(&writer, PIPE_BYTES);
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok((Self { pipe, rest: Vec::new(), ended: false }, writer))
    }

    /// What was said since the last look.
    ///
    /// # Errors
    /// When the pipe cannot be read or a line is none of ours.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> io::Result<Vec<T>> {
        let mut bytes = [0; 1 << 16];
        loop {
            match self.pipe.read(&mut bytes) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => self.rest.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
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

/// Says a word to the observer.
///
/// # Errors
/// When it is gone.
pub(crate) fn say(mut writer: &PipeWriter, word: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    writer.write_all(&line)
}
