//! References of a guest as the plugin passes them on: words of 64 bits. The crate `profile` includes
//! this file by its path.

/// Most references of a run in one word.
pub(crate) const MOST_REFERENCES: u64 = (1 << 14) - 1;
const PAGE_SHIFT: u32 = 19;
const PAGE_MASK: u64 = (1 << 45) - 1;

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// References to one page, at most [`MOST_REFERENCES`].
    Run { page: u64, count: u64, fetch: bool, written: bool },
    /// A page is mapped like this: 0 for 4 KiB, 1 for 2 MiB, 2 for 1 GiB.
    Translation { page: u64, size: u8, is_global: bool },
    /// Translations are flushed.
    Flush { globals_too: bool },
    /// The translation of one page is flushed.
    FlushPage { page: u64 },
    /// What follows is of this virtual CPU in this address space.
    Switch { space: u32, cpu: u8 },
}

impl Word {
    pub(crate) fn encode(self) -> u64 {
        let paged = |page: u64, rest: u64| (page & PAGE_MASK) << PAGE_SHIFT | rest;
        match self {
            Self::Run { page, count, fetch, written } => {
                paged(page, count << 5 | u64::from(fetch) << 4 | u64::from(written) << 3)
            }
            Self::Translation { page, size, is_global } => {
                paged(page, u64::from(size) << 4 | u64::from(is_global) << 3 | 1)
            }
            Self::Flush { globals_too } => u64::from(globals_too) << 3 | 2,
            Self::FlushPage { page } => paged(page, 3),
            Self::Switch { space, cpu } => u64::from(space) << 32 | u64::from(cpu) << 8 | 4,
        }
    }

    /// Reads a word; `None` if it is none of the plugin. Pages are sign-extended.
    pub(crate) fn decode(word: u64) -> Option<Self> {
        let page = (word.cast_signed() >> PAGE_SHIFT).cast_unsigned();
        let is_set = word >> 3 & 1 == 1;
        Some(match word & 7 {
            0 => Self::Run {
                page,
                count: word >> 5 & MOST_REFERENCES,
                fetch: word >> 4 & 1 == 1,
                written: is_set,
            },
            1 => Self::Translation { page, size: (word >> 4 & 3) as u8, is_global: is_set },
            2 => Self::Flush { globals_too: is_set },
            3 => Self::FlushPage { page },
            4 => Self::Switch { space: (word >> 32) as u32, cpu: (word >> 8) as u8 },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_their_bits() {
        let page = u64::MAX << 44 | 0x123;
        for word in [
            Word::Run { page, count: MOST_REFERENCES, fetch: true, written: false },
            Word::Run { page: 7, count: 1, fetch: false, written: true },
            Word::Translation { page, size: 2, is_global: true },
            Word::Flush { globals_too: true },
            Word::Flush { globals_too: false },
            Word::FlushPage { page },
            Word::Switch { space: u32::MAX, cpu: 7 },
        ] {
            assert_eq!(Word::decode(word.encode()), Some(word));
        }
        assert_eq!(Word::decode(7), None);
    }
}
