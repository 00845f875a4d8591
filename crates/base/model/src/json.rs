//! JSON of the messages between processes.

use serde::Deserialize;
use serde::de::Error as _;

/// Parses JSON. Unlike `serde_json::from_slice` and `from_reader` it uses the parser of the lines of
/// run files: the agent holds the code of one, not of three. Fails as they do.
pub fn from_bytes<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> serde_json::Result<T> {
    let text = str::from_utf8(bytes).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}
