//! Decodes the words of one thread into references and events.

use std::sync::atomic::{AtomicU64, Ordering};

use trace::{Event, Reference, ReferenceWords};

use crate::wire;

/// Receives a thread's references and events in their order.
pub(crate) trait Taker {
    fn begin(&mut self, process: u32, thread: u32);
    fn references(&mut self, words: ReferenceWords<'_>);
    /// `count` fetches from one page, the first at an address.
    fn fetches(&mut self, address: u64, count: u32);
    fn event(&mut self, event: Event);
    /// Whether it wants no more now.
    fn is_full(&self) -> bool;
}

/// The words of an incomplete event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    code: u64,
    left_bytes: usize,
    words: Vec<u64>,
    bytes: usize,
    /// Forks and missed events, for the reader of the stream.
    pub(crate) noted: Vec<Event>,
}

/// References per call of a taker.
const BATCH: usize = 512;
/// Longest event of the plugin, in bytes.
const LONGEST_EVENT: usize = 64 << 20;

impl Stream {
    #[inline]
    pub(crate) fn take(&mut self, words: &[AtomicU64], taker: &mut impl Taker) {
        // Copied, so that others cannot change it, in batches that fit the nearest cache.
        let mut near = [0; BATCH];
        for batch in words.chunks(BATCH) {
            let near = &mut near[..batch.len()];
            near.iter_mut().zip(batch).for_each(|(to, word)| *to = word.load(Ordering::Relaxed));
            match ReferenceWords::new(near).filter(|_| self.left_bytes == 0) {
                Some(references) => taker.references(references),
                None => self.take_mixed(near, taker),
            }
        }
    }

    /// Takes words with others than references among them.
    fn take_mixed(&mut self, mut words: &[u64], taker: &mut impl Taker) {
        let is_other = |word: &u64| Reference::from_bits(*word).is_none();
        while let Some((first, rest)) = words.split_first() {
            if self.left_bytes > 0 || is_other(first) {
                self.take_other(*first, taker);
                words = rest;
            } else {
                let count = words.iter().position(is_other).unwrap_or(words.len());
                let (references, rest) = words.split_at(count);
                ReferenceWords::new(references).into_iter().for_each(|all| taker.references(all));
                words = rest;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn take_other(&mut self, word: u64, taker: &mut impl Taker) {
        if self.left_bytes > 0 {
            self.words.push(word);
            self.left_bytes = self.left_bytes.saturating_sub(size_of::<u64>());
        } else if word & wire::NO_ACCESS != wire::NO_ACCESS {
            // Not a word of the plugin.
            return;
        } else if word & 7 == wire::FETCHES {
            let count = (word >> 5 & wire::MOST_FETCHES) as u32;
            return taker.fetches((word.cast_signed() >> 16).cast_unsigned(), count);
        } else {
            self.words.clear();
            self.code = word >> 5 & 0x7ff_ffff;
            self.bytes = ((word >> 32) as usize).min(LONGEST_EVENT);
            self.left_bytes = self.bytes;
        }
        if self.left_bytes == 0
            && let Some(event) = self.event()
        {
            if matches!(event, Event::Fork { .. } | Event::Missed { .. }) {
                self.noted.push(event.clone());
            }
            taker.event(event);
        }
    }

    fn event(&self) -> Option<Event> {
        let number = |index: usize| self.words.get(index).copied();
        Some(match self.code {
            wire::PROGRAM => Event::Program { command: self.text() },
            wire::THREAD_END => Event::ThreadEnd,
            wire::FORK => Event::Fork { child: u32::try_from(number(0)?).ok()? },
            wire::FORK_FAILED => Event::Missed {
                reason: format!(
                    "process {}, which was not created: the system refused",
                    number(0)?
                ),
            },
            wire::MAP => Event::Map {
                address: number(0)?,
                length_bytes: number(1)?,
                file: number(2)? != 0,
                shared: number(3)? != 0,
            },
            wire::UNMAP => Event::Unmap { address: number(0)?, length_bytes: number(1)? },
            wire::BREAK => Event::Break { address: number(0)? },
            wire::MISSED => Event::Missed { reason: self.text() },
            _ => return None,
        })
    }

    fn text(&self) -> String {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        String::from_utf8_lossy(&bytes[..self.bytes.min(bytes.len())]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Access;

    #[derive(Default)]
    struct Seen(Vec<String>);

    impl Taker for Seen {
        fn begin(&mut self, _: u32, _: u32) {}
        fn is_full(&self) -> bool {
            false
        }
        fn references(&mut self, words: ReferenceWords<'_>) {
            self.0.extend(words.words().iter().map(|word| format!("{word:#x}")));
        }
        fn fetches(&mut self, address: u64, count: u32) {
            self.0.push(format!("{count} at {address:#x}"));
        }
        fn event(&mut self, event: Event) {
            self.0.push(format!("{event:?}"));
        }
    }

    #[test]
    fn words_are_taken_apart_whatever_is_in_an_event() {
        let mut stream = Stream::default();
        let mut seen = Seen::default();
        let text = u64::from_le_bytes(*b"gzip -9 ");
        let words = [
            0x1000 << 5,
            wire::fetches(0xffff_f000, 7),
            wire::fetches(u64::MAX << 12, 1),
            wire::event(wire::PROGRAM, 7),
            text,
            wire::event(wire::BREAK, 8),
            wire::event(wire::EVENT, 64),
            wire::event(wire::THREAD_END, 0),
            wire::event(wire::UNMAP, 16),
            0x1000,
        ];
        stream.take(&words.map(AtomicU64::new), &mut seen);
        let expected = [
            "0x20000".to_owned(),
            "7 at 0xfffff000".to_owned(),
            "1 at 0xfffffffffffff000".to_owned(),
            "Program { command: \"gzip -9\" }".to_owned(),
            format!("{:?}", Event::Break { address: wire::event(wire::EVENT, 64) }),
            "ThreadEnd".to_owned(),
        ];
        assert_eq!(seen.0, expected);
    }

    #[test]
    fn a_word_is_a_reference_in_its_bits() {
        let address = 0x7fff_1234_5678_u64;
        let word = address << 5 | 1 << 3 | 3;
        assert_eq!(Reference::from_bits(word), Some(Reference::new(address, Access::Store, 3)));
        assert_eq!(wire::FETCH, 2 << 3);
    }
}
