//! Sessions: concurrent users, each of whom runs random permutations of a script.

mod corpus;
mod resolve;
mod script;
mod text;
mod variables;

pub use corpus::{CORPUS_BYTES, fill};
pub use resolve::{Resolved, resolve, search_path, why_not_there};
pub use script::{DEFAULT_SCRIPT, MOST_USERS, parse_script, script_text, set};
pub use variables::arguments;

use crate::workload::{Work, Workload};

/// Users as in D. H. Hunt, "Performance Comparison of Systems 17.11 and 18.9", CSR RFC 17, 1973.
pub const SESSION: Workload = Workload {
    name: "session",
    about: "users who issue the commands of a script in random order, thinking in between",
    ..Workload::new(Work::Job)
};
