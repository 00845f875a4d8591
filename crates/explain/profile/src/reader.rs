//! Reads what the plugin wrote: words of 64 bits, and numbers of seven bits at a time.

use RecordingError::Unreadable;

/// Why there are no counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The plugin wrote nothing, or something else.
    #[error("the plugin's file is not one: {0}")]
    Unreadable(&'static str),
    /// The plugin reached its limits.
    #[error(
        "the run has more call stacks or intervals than the plugin keeps (8 million, 400 MB); \
         profile a shorter run"
    )]
    TooLarge,
    /// The counts do not add up.
    #[error("the counts sum to {sum} instructions, but the emulator executed {executed}")]
    Sum {
        /// The sum.
        sum: u64,
        /// The emulator's count.
        executed: u64,
    },
}

/// Bytes that are still to come.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], RecordingError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Unreadable("it ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn word(&mut self) -> Result<u64, RecordingError> {
        let (word, rest) = self.0.split_first_chunk().ok_or(Unreadable("it ends early"))?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*word))
    }

    /// A number of things of at least so many bytes, all of which are still to come.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<usize, RecordingError> {
        let count = usize::try_from(self.word()?).ok();
        count
            .filter(|count| count.checked_mul(bytes).is_some_and(|size| size <= self.0.len()))
            .ok_or(Unreadable("it ends early"))
    }

    /// Seven bits at a time, the low ones first.
    pub(crate) fn number(&mut self) -> Result<u64, RecordingError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Unreadable("a number is too long"))
    }
}
