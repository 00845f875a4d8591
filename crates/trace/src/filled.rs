//! A buffer filled from a stream.

use std::io::{ErrorKind, Read, Result};

/// Reads until the buffer is full or the stream ends, and returns how many bytes there were.
pub(crate) fn filled(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match input.read(&mut buffer[count..]) {
            Ok(0) => break,
            Ok(read) => count += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}
