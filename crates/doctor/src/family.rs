//! Kinds of trouble.

use serde::{Deserialize, Serialize};

/// Kinds of trouble. A machine with one of them may show others of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Pages are evicted and come back.
    Reclaim,
    /// Pages are written back faster than the device takes them.
    Writeback,
    /// Faults that need no device: first touches, copies, maps.
    Faults,
    /// Page tables and their copies in hardware.
    Translation,
    /// Physical memory is moved about.
    Compaction,
    /// The CPU is given to somebody else.
    Cpu,
}
