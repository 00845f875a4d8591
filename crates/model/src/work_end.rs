//! How one issued command ended, with the evidence.

use serde::{Deserialize, Serialize};

/// How an issued command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkEnd {
    /// It ended by itself.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended it.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// The kernel killed processes of it for lack of memory, perhaps its first one.
    KilledForMemory {
        /// How many were killed.
        processes: u64,
        /// The exit code of its first process; `None` if a signal ended that one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
    },
    /// It could not be started.
    NotStarted {
        /// What the kernel answered.
        reason: String,
    },
    /// It ran into its limit of time and was killed.
    AtLimit,
    /// It waited for the terminal, which another process owns, and was killed.
    StoppedByTerminal {
        /// The signal that stopped it.
        signal: i32,
    },
    /// The run did not wait for it any longer.
    EndedByUs,
}
