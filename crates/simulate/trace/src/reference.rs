//! References to memory, and runs of them to one page.

/// A trace's pages are of 2^12 bytes, whatever the pages of the machine that is simulated.
pub const PAGE_SHIFT: u32 = 12;

/// The greatest size of a reference is 2^6 bytes.
pub const MAX_SIZE_LOG2: u8 = 6;

/// What a reference does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Reads data.
    Load = 0,
    /// Writes data; of a reference that reads and writes, this.
    Store = 1,
    /// Fetches an instruction.
    Fetch = 2,
}

/// A reference in 8 bytes: bits 63..5 are the address (59 bits, sign-extended), 4..3 the access (0
/// load, 1 store, 2 fetch), 2..0 the log2 of the size (0 = 1 byte … 6 = 64 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference(pub(crate) u64);

impl Reference {
    /// A reference of `2^size_log2` bytes at an address.
    pub fn new(address: u64, access: Access, size_log2: u8) -> Self {
        Self(address << 5 | (access as u64) << 3 | u64::from(size_log2.min(MAX_SIZE_LOG2)))
    }

    /// All of it, as the type describes.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The reference with these bits; `None` if no access or no size has them.
    #[inline]
    pub fn from_bits(bits: u64) -> Option<Self> {
        is_reference(faults(bits)).then_some(Self(bits))
    }

    /// Its first byte.
    pub fn address(self) -> u64 {
        (self.0.cast_signed() >> 5).cast_unsigned()
    }

    /// What it does.
    pub fn access(self) -> Access {
        match self.0 >> 3 & 3 {
            0 => Access::Load,
            1 => Access::Store,
            _ => Access::Fetch,
        }
    }

    /// How many bytes it is of.
    pub fn size_bytes(self) -> u32 {
        1 << (self.0 & 7)
    }

    /// The page of its first byte.
    pub fn page(self) -> u64 {
        (self.address().cast_signed() >> PAGE_SHIFT).cast_unsigned()
    }
}

/// Words that all are [bits](Reference::from_bits) of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceWords<'a>(&'a [u64]);

impl<'a> ReferenceWords<'a> {
    /// These words; `None` if one of them is not a reference.
    #[inline]
    pub fn new(words: &'a [u64]) -> Option<Self> {
        // Branch-free, for vectorization.
        let found = words.iter().fold(0, |found, word| found | faults(*word));
        is_reference(found).then_some(Self(words))
    }

    /// The words.
    pub fn words(self) -> &'a [u64] {
        self.0
    }

    /// The words in a range. Panics when it is out of bounds.
    pub fn part(self, range: std::ops::Range<usize>) -> Self {
        Self(&self.0[range])
    }

    /// As references.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Reference> + 'a {
        self.0.iter().map(|word| Reference(*word))
    }
}

/// Faults of bits as a reference: bit 3 for a bad access, bit 0 for a bad size.
#[inline(always)]
fn faults(bits: u64) -> u64 {
    bits & bits >> 1 & (bits >> 2 | 1 << 3)
}

/// Whether nothing is wrong with any of the bits of which these are the faults.
#[inline(always)]
fn is_reference(faults: u64) -> bool {
    faults & (1 << 3 | 1) == 0
}

/// References to one page, one directly after the other, all of them fetches or all of them data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// The page, as of [`Reference::page`].
    pub page: u64,
    /// How many references, at least 1.
    pub count: u32,
    /// Whether they fetch instructions.
    pub fetch: bool,
    /// Whether one of them writes.
    pub written: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_of_an_access_and_a_size_are_references() {
        for low in 0..32 {
            let words = [7 << 3, u64::MAX << 5 | low, 5];
            let is_one = low >> 3 != 3 && low & 7 != 7;
            let words = ReferenceWords::new(&words[1..]);
            assert_eq!(words.is_some(), is_one, "{low:#b}");
            assert_eq!(Reference::from_bits(low).is_some(), is_one, "{low:#b}");
        }
    }

    #[test]
    fn a_reference_is_what_was_put_in() {
        for address in [0, 0x7fff_ffff_f123, 0xffff_ffff_8000_0001, (1 << 58) - 1] {
            for access in [Access::Load, Access::Store, Access::Fetch] {
                for size_log2 in 0..=6 {
                    let reference = Reference::new(address, access, size_log2);
                    assert_eq!(reference.address(), address);
                    assert_eq!(reference.access(), access);
                    assert_eq!(reference.size_bytes(), 1 << size_log2);
                }
            }
        }
    }
}
