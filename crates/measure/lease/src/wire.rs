//! Messages between the two sides: lines of a mark and JSON.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use model::{EndStatus, Spec, SubjectSpec};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use subject::{LocalSubject, StageOptions};

/// Number of this language; two sides that do not agree on it do not talk.
pub const LANGUAGE: u32 = 2;
/// First byte of a message.
const WORD: u8 = b'!';
/// First byte of a line of a run.
const RUN_LINE: u8 = b'=';
/// Longest line in bytes: a longer one is not a message.
pub const MOST_LINE_BYTES: usize = 64 << 20;

/// What begins a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Protocol number of the controller.
    pub language: u32,
    /// A connection with the same name continues the session.
    pub session: String,
    /// Distinguishes processes that use the same name.
    pub instance: String,
    /// The user who measures, for the holder's note.
    pub who: String,
    /// The measured host as the other side calls it.
    pub address: String,
    /// Whether to wait for the lease.
    pub wait: bool,
    /// How long the session waits for a new connection, in ns.
    pub patience_ns: u64,
    /// How long unfetched runs are kept, in ns.
    pub keep_ns: u64,
    /// How runs are made there.
    #[serde(flatten)]
    pub stage: StageOptions,
}

/// A request to the measured host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// The first line.
    Open(Box<Opening>),
    /// Is this available?
    Prepare {
        /// Distinguishes the answer from that to another question.
        ticket: u64,
        /// The subject; `None` = a sandbox where possible, else the host.
        subject: Option<LocalSubject>,
        /// Kernel parameters that runs set, with their values.
        sysctls: BTreeMap<String, String>,
    },
    /// Make a run unless it exists, and send it from a position on. Confirms all other runs.
    Run {
        /// What names the run beyond this session.
        key: String,
        /// The name in the run's header.
        run_id: String,
        /// What to run.
        spec: Box<Spec>,
        /// How many of its bytes have arrived already.
        from: u64,
    },
    /// Stop the run, and the session after it.
    Stop,
    /// Asks for a [`Answer::Pong`], to see that the other side lives.
    Ping,
    /// All runs have been received; clean up.
    Close,
}

/// A subject that is ready, with a note about it; or why there is none.
pub type PreparedSubject = Result<(SubjectSpec, Option<String>), String>;

/// What the measured host answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The first line.
    Hello {
        /// Protocol number of this side.
        language: u32,
        /// Version of the agent.
        thrashlab: String,
    },
    /// Another user measures there.
    Busy {
        /// Who holds the lease.
        holder: Holder,
        /// Whether the session waits for the end of it.
        waits: bool,
    },
    /// The session exists and has the lease.
    Ready {
        /// What the user should know about the stage.
        notes: Vec<String>,
    },
    /// The session is not available, or cannot continue.
    Failed {
        /// The reason, with the next step.
        why: String,
    },
    /// The subject is available.
    Prepared {
        /// The ticket of the question.
        ticket: u64,
        /// The subject with all that was chosen, and a note on that; or why it is not available.
        subject: PreparedSubject,
    },
    /// The lines that follow are those of this run.
    Stream {
        /// The key of the run.
        key: String,
        /// The place in bytes of what comes next.
        from: u64,
    },
    /// A run ended; all its lines were sent.
    Ended(Ended),
    /// The run was begun by a session that is gone; there is no more of it.
    Lost {
        /// The key of the run.
        key: String,
    },
    /// Answers a ping.
    Pong,
    /// All is cleaned up.
    Closed {
        /// What could not be removed, with the reasons.
        left: Vec<String>,
    },
}

/// Who holds the lease of a host, as its note states in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Empty if the note does not state it.
    pub who: String,
    /// When it was taken, in ns since 1970.
    pub since_unix_ns: u64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The key of the run.
    pub key: String,
    /// The status of its `end` line.
    pub status: EndStatus,
    /// How the agent died, if it did.
    pub death: Option<String>,
    /// Size of all its lines in bytes.
    pub size_bytes: u64,
    /// BLAKE3 of them, in hexadecimal.
    pub blake3: String,
}

/// A word as a line.
pub fn encode(word: &impl Serialize) -> Vec<u8> {
    let mut line = vec![WORD];
    // The types hold nothing that JSON cannot express.
    line.extend(serde_json::to_vec(word).unwrap_or_default());
    line.push(b'\n');
    line
}

/// Writes lines of a run, each whole.
pub fn write_run_lines(lines: &[u8], out: &mut impl Write) -> io::Result<()> {
    let marked: Vec<u8> =
        model::whole_lines::lines(lines).flat_map(|line| [&[RUN_LINE], line].concat()).collect();
    out.write_all(&marked)
}

/// What came.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame<W> {
    /// A message.
    Message(W),
    /// A line of a run, newline included.
    RunLine(Vec<u8>),
}

/// Splits the stream into lines and parses them. Shell output before the first message is skipped.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// Bytes that were received and not yet parsed.
    pub rest: Vec<u8>,
    read_bytes: u64,
    /// Whether the first message has come; before, other lines are skipped.
    greeted: bool,
}

impl Reader {
    /// Adds bytes that were received.
    pub fn push(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
    }

    /// Reads until the next line is complete; `None` at the end. Fails on bad lines or read errors.
    pub fn receive<W: DeserializeOwned>(
        &mut self,
        input: &mut impl Read,
    ) -> io::Result<Option<Frame<W>>> {
        loop {
            if let Some(said) = self.next_frame().map_err(io::Error::other)? {
                return Ok(Some(said));
            }
            let mut bytes = [0; 4096];
            match input.read(&mut bytes) {
                Ok(0) => return Ok(None),
                Ok(count) => self.push(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the opening of a session. Fails if the first message is another one, or the input fails.
    pub fn opening(&mut self, input: &mut impl Read) -> Result<Box<Opening>, String> {
        match self.receive(input).map_err(|error| error.to_string())? {
            Some(Frame::Message(Ask::Open(opening))) => Ok(opening),
            _ => Err("a session begins with its opening".to_owned()),
        }
    }

    /// The next line; `None` if it is incomplete. The error has the place and the reason.
    pub fn next_frame<W: DeserializeOwned>(&mut self) -> Result<Option<Frame<W>>, String> {
        loop {
            let at = self.read_bytes;
            let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') else {
                return match self.rest.len() > MOST_LINE_BYTES {
                    true => {
                        Err(format!("byte {at}: a line is longer than {MOST_LINE_BYTES} bytes"))
                    }
                    false => Ok(None),
                };
            };
            let rest = self.rest.split_off(end + 1);
            let line = std::mem::replace(&mut self.rest, rest);
            self.read_bytes += line.len() as u64;
            match (line[0], self.greeted) {
                (WORD, true) => return word(&line, at).map(|word| Some(Frame::Message(word))),
                (WORD, false) => {
                    let Ok(word) = word(&line, at) else { continue };
                    self.greeted = true;
                    return Ok(Some(Frame::Message(word)));
                }
                (RUN_LINE, true) => return Ok(Some(Frame::RunLine(line[1..].to_vec()))),
                (_, true) => {
                    return Err(format!("byte {at}: a line begins with neither ! nor ="));
                }
                (_, false) => {}
            }
        }
    }
}

fn word<W: DeserializeOwned>(line: &[u8], at: u64) -> Result<W, String> {
    model::json::from_bytes(&line[1..]).map_err(|error| format!("byte {at}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8], pieces: usize) -> Vec<Result<Frame<Answer>, String>> {
        let mut reader = Reader::default();
        let mut said = Vec::new();
        for piece in bytes.chunks(bytes.len().div_ceil(pieces.max(1)).max(1)) {
            reader.push(piece);
            loop {
                match reader.next_frame() {
                    Ok(None) => break,
                    Ok(Some(more)) => said.push(Ok(more)),
                    Err(error) => {
                        said.push(Err(error));
                        return said;
                    }
                }
            }
        }
        said
    }

    fn conversation() -> Vec<u8> {
        let mut bytes = b"Welcome!\n!\n{}\n".to_vec();
        let hello = Answer::Hello { language: LANGUAGE, thrashlab: "1".to_owned() };
        bytes.extend(encode(&hello));
        bytes.extend(encode(&Answer::Stream { key: "k".to_owned(), from: 7 }));
        write_run_lines(b"{\"kind\":\"x\"}\n!=\n", &mut bytes).unwrap();
        bytes.extend(encode(&Answer::Closed { left: vec!["two\nlines".to_owned()] }));
        bytes
    }

    #[test]
    fn a_conversation_is_read_however_it_is_cut() {
        let bytes = conversation();
        let whole = all(&bytes, 1);
        assert_eq!(whole.len(), 5, "{whole:?}");
        assert_eq!(whole[3], Ok(Frame::RunLine(b"!=\n".to_vec())));
        for pieces in 2..bytes.len() {
            assert_eq!(all(&bytes, pieces), whole);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let mut bytes = encode(&Answer::Pong);
        let at = bytes.len() as u64;
        bytes.extend(b"{}\n");
        let why = all(&bytes, 1).pop().unwrap().unwrap_err();
        assert!(
            why.starts_with(&format!("byte {at}: ")) && why.contains("neither ! nor ="),
            "{why}"
        );
        let mut bytes = encode(&Answer::Pong);
        bytes.extend(b"!\"pang\"\n");
        let why = all(&bytes, 1).pop().unwrap().unwrap_err();
        assert!(why.starts_with(&format!("byte {at}: ")) && why.contains("pang"), "{why}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>(), pieces in 1..9_usize) {
            all(&bytes, pieces);
            all(&[encode(&Answer::Pong), bytes].concat(), pieces);
        }
    }
}
