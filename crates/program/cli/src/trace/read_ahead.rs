//! Reads a trace on a thread of its own, some blocks ahead of who uses it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use trace::{Block, Notes, Source, TraceError};

/// How many blocks are read ahead at most; each takes some 2 MB.
const AHEAD: usize = 4;
/// How often a wait looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

enum Message {
    /// A block, and how many bytes were read until then.
    Block(Block, u64),
    /// There is no more, or it cannot be read.
    End(Result<(), TraceError>, Box<Notes>, u64),
}

pub(crate) struct ReadAhead {
    messages: Receiver<Message>,
    /// Blocks whose memory can be used again.
    used: Sender<Block>,
    notes: Notes,
    read_bytes: u64,
    ended: bool,
}

impl ReadAhead {
    /// Reads on from here on another thread, which ends with the source or when this is dropped.
    pub(crate) fn new(source: Box<dyn Source + Send>) -> Self {
        let (full, messages) = sync_channel(AHEAD);
        let (used, empty) = channel();
        let (notes, read_bytes) = (source.notes(), source.read_bytes());
        thread::spawn(move || read(source, &full, &empty));
        Self { messages, used, notes, read_bytes, ended: false }
    }

    /// As [`Source::next`], but returns `None` early once `stop` returns true.
    pub(crate) fn next_unless(
        &mut self,
        block: &mut Block,
        stop: impl Fn() -> bool,
    ) -> Result<Option<bool>, TraceError> {
        while !self.ended {
            if stop() {
                return Ok(None);
            }
            match self.messages.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) => {}
                // The thread ends by saying so, unless it panicked.
                Err(RecvTimeoutError::Disconnected) => {
                    let lost = std::io::Error::other("the thread that reads the trace has failed");
                    return Err(lost.into());
                }
                Ok(Message::Block(next, read_bytes)) => {
                    let used = std::mem::replace(block, next);
                    // Nobody needs it if all is read.
                    let _ = self.used.send(used);
                    self.read_bytes = read_bytes;
                    return Ok(Some(true));
                }
                Ok(Message::End(outcome, notes, read_bytes)) => {
                    (self.notes, self.read_bytes, self.ended) = (*notes, read_bytes, true);
                    outcome?;
                }
            }
        }
        Ok(Some(false))
    }
}

impl Source for ReadAhead {
    fn next(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        Ok(self.next_unless(block, || false)?.unwrap_or(false))
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn read_bytes(&self) -> u64 {
        self.read_bytes
    }
}

/// Reads until the end, or until nobody listens any more.
fn read(mut source: Box<dyn Source + Send>, full: &SyncSender<Message>, empty: &Receiver<Block>) {
    let outcome = loop {
        let mut block = empty.try_recv().unwrap_or_default();
        match source.next(&mut block) {
            Ok(true) => {
                if full.send(Message::Block(block, source.read_bytes())).is_err() {
                    return;
                }
            }
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let end = Message::End(outcome, Box::new(source.notes()), source.read_bytes());
    // Who does not listen does not want to know either.
    let _ = full.send(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out this many blocks, then fails or ends.
    struct Numbers {
        left: u64,
        fails: bool,
    }

    impl Source for Numbers {
        fn next(&mut self, block: &mut Block) -> Result<bool, TraceError> {
            if self.left == 0 {
                return match self.fails {
                    true => Err(std::io::Error::other("broken").into()),
                    false => Ok(false),
                };
            }
            self.left -= 1;
            block.first = self.left;
            Ok(true)
        }

        fn read_bytes(&self) -> u64 {
            100 - self.left
        }
    }

    #[test]
    fn blocks_come_in_order_and_so_does_the_end() {
        for fails in [false, true] {
            let mut ahead = ReadAhead::new(Box::new(Numbers { left: 20, fails }));
            let mut block = Block::default();
            for expected in (0..20).rev() {
                assert!(ahead.next(&mut block).unwrap());
                assert_eq!(block.first, expected);
                assert_eq!(ahead.read_bytes(), 100 - expected);
            }
            assert_eq!(ahead.next(&mut block).is_err(), fails);
            assert!(!ahead.next(&mut block).unwrap());
        }
    }

    #[test]
    fn one_can_stop() {
        let mut ahead = ReadAhead::new(Box::new(Numbers { left: 20, fails: false }));
        assert!(matches!(ahead.next_unless(&mut Block::default(), || true), Ok(None)));
    }
}
