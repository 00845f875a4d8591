//! What a command writes: a pipe, of which the end is kept.

use std::cell::RefCell;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes of a read.
const READ_BYTES: usize = 4096;
/// Most reads at once: a command may write as fast as it is read.
const READS: usize = 64;
/// Longest text of the last lines in characters: a message is one atomic write.
const LAST_CHARS: usize = 200;
/// Most of the last lines.
const LAST_LINES: usize = 3;

/// The output of commands. They may write as much as they like, as to a terminal.
#[derive(Debug)]
pub(crate) struct Captured {
    reader: PipeReader,
    writer: PipeWriter,
    end: RefCell<Vec<u8>>,
    most_bytes: usize,
}

impl Captured {
    /// A pipe of which so much is kept.
    pub(crate) fn new(most_bytes: usize) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        Ok(Self { reader, writer, end: RefCell::default(), most_bytes })
    }

    /// The end for a command.
    pub(crate) fn writer(&self) -> io::Result<PipeWriter> {
        self.writer.try_clone()
    }

    /// Keeps the end of what is in the pipe now.
    pub(crate) fn read(&self) {
        let (mut end, mut bytes) = (self.end.borrow_mut(), [0; READ_BYTES]);
        for _ in 0..READS {
            // It would block; the pipe does not end, because this process can write to it.
            let Ok(count) = (&self.reader).read(&mut bytes) else { return };
            end.extend_from_slice(&bytes[..count]);
            // Seldom, because all that is kept moves.
            if end.len() > 2 * self.most_bytes {
                let surplus = end.len() - self.most_bytes;
                end.drain(..surplus);
            }
        }
    }

    /// Forgets all that was written so far.
    pub(crate) fn clear(&self) {
        self.read();
        self.end.borrow_mut().clear();
    }

    /// What is kept.
    pub(crate) fn text(&self) -> String {
        let end = self.end.borrow();
        let surplus = end.len().saturating_sub(self.most_bytes);
        String::from_utf8_lossy(&end[surplus..]).into_owned()
    }

    /// The last lines that are not empty, as one.
    pub(crate) fn last_lines(&self) -> String {
        let text = self.text();
        let mut last = String::new();
        let is_blank = |letter: char| letter.is_whitespace() || letter.is_control();
        let lines = text.lines().rev().map(|line| line.trim_matches(is_blank));
        let lines = lines.filter(|line| !line.is_empty());
        for line in lines.take(LAST_LINES) {
            let line: String =
                line.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
            match last.is_empty() {
                true => last = line.chars().take(LAST_CHARS).collect(),
                false if last.chars().count() + line.chars().count() < LAST_CHARS => {
                    last = format!("{line}; {last}");
                }
                false => break,
            }
        }
        last
    }
}

impl AsFd for Captured {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}
