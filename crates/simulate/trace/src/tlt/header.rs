//! The header of a trace file.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::TraceError;

/// The first bytes; the last four detect converted line ends.
pub(crate) const MAGIC: &[u8; 8] = b"\x89TLT\r\n\x1a\n";
const VERSION: u32 = 3;
/// The oldest version that is read; it lacks the events of guests.
const OLDEST_VERSION: u32 = 2;
const LONGEST_BYTES: usize = 1 << 20;
/// Magic, version and length of the description.
pub(crate) const FIXED_BYTES: usize = 16;

/// How finely a trace has references, or a reader needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// Each, with address, access and size.
    #[default]
    Reference,
    /// Only runs of references to one page.
    Page,
}

/// What was recorded, from which command, by which tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The command line that was recorded, or the file that was converted.
    pub program: String,
    /// Whether data references are in it.
    pub data: bool,
    /// Whether instruction fetches are in it.
    pub fetches: bool,
    /// How finely.
    pub granularity: Granularity,
    /// What wrote the file: `thrashlab 0.1.0`.
    pub tool: String,
    /// Versions of what else took part: `qemu-x86_64` and its version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
    /// The architecture of the program, as its instructions are: `x86_64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
}

impl Header {
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, TraceError> {
        let json = serde_json::to_vec(self).map_err(std::io::Error::other)?;
        if json.len() > LONGEST_BYTES {
            return Err(bad("the description is longer than 1 MiB; shorten the command line"));
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((json.len() as u32).to_le_bytes());
        bytes.extend(json);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        Ok(bytes)
    }

    /// Bytes after the first [`FIXED_BYTES`].
    pub(crate) fn rest_bytes(fixed: &[u8]) -> Result<usize, TraceError> {
        let Some([version, length]) = fixed.strip_prefix(MAGIC).and_then(|rest| {
            let [a, b, c, d, e, f, g, h] = *rest.first_chunk()?;
            Some([u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])])
        }) else {
            return Err(bad("this is not a trace of thrashlab; name its format, or convert it"));
        };
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            return Err(bad(format!(
                "this is version {version} of the format, this program reads {OLDEST_VERSION} to \
                 {VERSION}; use the program that wrote it, or record again"
            )));
        }
        if length as usize > LONGEST_BYTES {
            let reason =
                format!("a description of {length} bytes is too long; the file is corrupt");
            return Err(bad(reason));
        }
        Ok(length as usize + 4)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, TraceError> {
        let (head, checksum) =
            bytes.split_last_chunk().ok_or_else(|| bad("the description is cut off"))?;
        if crc32fast::hash(head) != u32::from_le_bytes(*checksum) {
            return Err(bad("the checksum is wrong; the file is corrupt"));
        }
        serde_json::from_slice(&head[FIXED_BYTES..]).map_err(bad)
    }
}

fn bad(reason: impl Display) -> TraceError {
    TraceError::bad("header", reason)
}
