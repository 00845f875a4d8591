//! The received part of a run: every byte comes once and in order, whatever breaks in between.

use lease::wire::{Answer, Ended, Frame};

/// A run that is being received.
#[derive(Debug)]
pub(crate) struct Receipt {
    key: String,
    /// Bytes received so far.
    pub(crate) size_bytes: u64,
    hasher: blake3::Hasher,
    /// Whether incoming lines are the missing ones.
    is_streaming: bool,
}

/// What to do with a received frame.
#[derive(Debug, PartialEq)]
pub(crate) enum Received {
    /// A line of the run, newline included.
    Line(Vec<u8>),
    Whole(Ended),
    Lost,
    Other(Answer),
}

impl Receipt {
    /// Nothing has been received of the run of this key.
    pub(crate) fn new(key: &str) -> Self {
        let (key, hasher) = (key.to_owned(), blake3::Hasher::new());
        Self { key, size_bytes: 0, hasher, is_streaming: false }
    }

    /// The connection broke: what comes next begins with its place.
    pub(crate) fn broken(&mut self) {
        self.is_streaming = false;
    }

    /// Takes what came. Fails, with the reason, if it is not the next missing part.
    pub(crate) fn take(&mut self, said: Frame<Answer>) -> Result<Received, String> {
        let expected = self.size_bytes;
        let elsewhere = |from| Err(format!("data arrived from byte {from}, not {expected}"));
        match said {
            Frame::RunLine(line) if self.is_streaming => {
                self.size_bytes += line.len() as u64;
                self.hasher.update(&line);
                Ok(Received::Line(line))
            }
            Frame::RunLine(_) => elsewhere(0),
            Frame::Message(Answer::Stream { key, from }) if key == self.key => {
                if from != expected {
                    return elsewhere(from);
                }
                self.is_streaming = true;
                Ok(Received::Other(Answer::Pong))
            }
            Frame::Message(Answer::Ended(ended)) if ended.key == self.key => {
                let is_whole = ended.size_bytes == expected
                    && self.hasher.finalize().to_hex().as_str() == ended.blake3;
                match is_whole {
                    true => Ok(Received::Whole(ended)),
                    false => Err(format!(
                        "the received run is damaged: {expected} of {} bytes arrived, or the \
                         checksum differs",
                        ended.size_bytes
                    )),
                }
            }
            Frame::Message(Answer::Lost { key }) if key == self.key => Ok(Received::Lost),
            Frame::Message(answer) => Ok(Received::Other(answer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lease::wire::{Reader, encode, write_run_lines};
    use model::EndStatus;
    use proptest::prelude::*;

    const LINES: &[u8] = b"{\"kind\":\"header\"}\n{\"kind\":\"sample\"}\n{\"kind\":\"end\"}\n";

    /// The lines of the run from a position on.
    fn said(from: usize) -> Vec<u8> {
        let stream = Answer::Stream { key: "k".to_owned(), from: from as u64 };
        let mut bytes = [encode(&Answer::Pong), encode(&stream)].concat();
        write_run_lines(&LINES[from..], &mut bytes).unwrap();
        let ended = Ended {
            key: "k".to_owned(),
            status: EndStatus::Complete,
            death: None,
            size_bytes: LINES.len() as u64,
            blake3: blake3::hash(LINES).to_hex().to_string(),
        };
        bytes.extend(encode(&Answer::Ended(ended)));
        bytes
    }

    /// Takes bytes as they arrive; returns whether the run is complete, or what is wrong.
    fn take(receipt: &mut Receipt, bytes: &[u8], run: &mut Vec<u8>) -> Result<bool, String> {
        let mut reader = Reader::default();
        reader.push(bytes);
        while let Some(said) = reader.next_frame()? {
            match receipt.take(said)? {
                Received::Line(line) => run.extend(line),
                Received::Whole(_) => return Ok(true),
                Received::Lost => return Err("lost".to_owned()),
                Received::Other(_) => {}
            }
        }
        Ok(false)
    }

    proptest! {
        #[test]
        fn a_run_that_broke_at_any_byte_is_made_whole(first in 0..400_usize, second in 0..400_usize) {
            let (mut receipt, mut run) = (Receipt::new("k"), Vec::new());
            let mut whole = false;
            for cut in [first, second, usize::MAX] {
                let bytes = said(run.len());
                whole = take(&mut receipt, &bytes[..cut.min(bytes.len())], &mut run).unwrap();
                if whole {
                    break;
                }
                receipt.broken();
            }
            prop_assert!(whole);
            prop_assert_eq!(run, LINES);
        }

        #[test]
        fn a_damaged_run_is_never_taken_for_whole(place in any::<usize>(), with in any::<u8>()) {
            let mut bytes = said(0);
            let place = place % bytes.len();
            bytes[place] = with;
            let (mut receipt, mut run) = (Receipt::new("k"), Vec::new());
            if take(&mut receipt, &bytes, &mut run) == Ok(true) {
                prop_assert_eq!(run, LINES);
            }
        }
    }
}
