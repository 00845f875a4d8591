//! The prober's messages to the observer: records of a fixed size, below a pipe's atomic write.

use std::array;

use model::Values;
use sys::process::Usage;
use workloads::{MAX_PARTS, Parts};

const WORDS: usize = 64;
pub(crate) const RECORD_BYTES: usize = WORDS * 8;
const FIXED_WORDS: usize = 3 + MAX_PARTS + 2 * Usage::NAMES.len();
const MESSAGE_BYTES: usize = (WORDS - FIXED_WORDS) * 8 - 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The probe is ready and waits for the beginning of its schedule.
    #[default]
    Ready,
    /// The probe cannot start; the message has the reason.
    NotReady,
    /// An interaction completed.
    Sample,
    /// An interaction failed; the message has the reason.
    Failed,
}

const KINDS: [Kind; 4] = [Kind::Ready, Kind::NotReady, Kind::Sample, Kind::Failed];

/// One record; all times are monotonic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) started_ns: u64,
    pub(crate) completed_ns: u64,
    pub(crate) parts: Parts,
    pub(crate) before: Usage,
    pub(crate) after: Usage,
    pub(crate) message: String,
}

impl Record {
    pub(crate) fn word(kind: Kind, message: String) -> Self {
        Self { kind, message, ..Self::default() }
    }

    /// The record as bytes (a long message is truncated).
    pub(crate) fn encode(&self) -> [u8; RECORD_BYTES] {
        let kind = KINDS.iter().position(|kind| *kind == self.kind).unwrap_or(0) as u64;
        let message = &self.message.as_bytes()[..self.message.len().min(MESSAGE_BYTES)];
        let words = [kind, self.started_ns, self.completed_ns].into_iter().chain(self.parts);
        let words = words.chain(self.before.0).chain(self.after.0).chain([message.len() as u64]);
        let mut bytes = [0; RECORD_BYTES];
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes[(FIXED_WORDS + 1) * 8..][..message.len()].copy_from_slice(message);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; RECORD_BYTES]) -> Option<Self> {
        let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        let mut next = || words.next().unwrap_or(0);
        let kind = *KINDS.get(usize::try_from(next()).ok()?)?;
        let (started_ns, completed_ns) = (next(), next());
        let parts = array::from_fn(|_| next());
        let [before, after] = array::from_fn(|_| Usage(array::from_fn(|_| next())));
        let length = usize::try_from(next()).ok()?;
        let text = bytes.get((FIXED_WORDS + 1) * 8..(FIXED_WORDS + 1) * 8 + length)?;
        let message = String::from_utf8_lossy(text).into_owned();
        Some(Self { kind, started_ns, completed_ns, parts, before, after, message })
    }
}

pub(crate) fn named_usage(usage: &Usage) -> Values {
    Usage::NAMES.iter().map(|name| (*name).into()).zip(usage.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_survive_the_pipe(
            times in any::<[u64; 2]>(), parts in any::<Parts>(),
            usage in any::<[u64; 8]>(), message in "[a-z ]{0,400}",
        ) {
            let record = Record {
                started_ns: times[0],
                completed_ns: times[1],
                parts,
                before: Usage(usage),
                after: Usage(usage.map(|word| word.wrapping_add(1))),
                ..Record::word(Kind::Failed, message.clone())
            };
            let read = Record::decode(&record.encode()).expect("a written record reads");
            prop_assert!(message.starts_with(&read.message));
            prop_assert_eq!(read.message.len(), message.len().min(MESSAGE_BYTES));
            prop_assert_eq!(Record { message: String::new(), ..read },
                            Record { message: String::new(), ..record });
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in any::<[[u8; 32]; 16]>()) {
            let flat: Vec<u8> = bytes.concat();
            let _ = Record::decode(&flat.try_into().expect("512 bytes"));
        }
    }
}
