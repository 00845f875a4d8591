//! How a test skips itself; a test file takes it in with
//! `#[path = "../../../tests/skip.rs"] mod skip;`.
//!
//! A test that cannot run here calls `skip` and returns. `make test` names a file in
//! `THRASHLAB_SKIPS`, prints the skips that it collected, and CI fails on any skip that
//! `tests/allowed-skips.txt` does not allow.

use std::fs::OpenOptions;
use std::io::Write;

/// Notes that the test `name` cannot run here, and why.
pub(crate) fn skip(name: &str, reason: &str) {
    // One line, however many the reason had.
    let line = format!("{name}: {}\n", reason.split_whitespace().collect::<Vec<_>>().join(" "));
    // Standard output itself, not `print!`: the test harness hides what passing tests print.
    let _ = write!(std::io::stdout(), "SKIPPED {line}");
    if let Some(path) = std::env::var_os("THRASHLAB_SKIPS") {
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the file named by THRASHLAB_SKIPS can be written");
    }
}
