//! What one mechanism of a kernel costs: `mechanism NAME [COUNT]` repeats it and prints the time of
//! one repetition.
//!
//! A change of a load under another kernel has many possible reasons; a change of one of these has
//! one. Each is timed as a whole, between two readings of the clock, and as much as possible of what
//! is not the mechanism is done before. In the deterministic machine the times repeat to the byte.
//!
//! - `lib.rs`: their names and what each of them is; `catalogue.rs`: how each is provoked.
//! - `processes.rs`, `memory.rs`, `files.rs`, `boot.rs`: how they are provoked.

mod boot;
mod catalogue;
mod files;
mod memory;
mod processes;

use std::io::{self, Write};
use std::process::ExitCode;

use catalogue::{Mechanism, find, list};

/// Exit code of a mechanism that this system does not have.
const FAILED: u8 = 1;
/// Exit code of wrong use.
const WRONG_USE: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mechanism, count) = match understood(&words) {
        Ok(understood) => understood,
        Err(why) => {
            complain(&why);
            return ExitCode::from(WRONG_USE);
        }
    };
    let outcome = (mechanism.cost_ns)(count).and_then(|cost_ns| {
        let name = mechanism.name;
        writeln!(io::stdout(), "mechanism: {cost_ns:.1} ns ({name}, {count} times)")
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{}: {error}", mechanism.name));
            ExitCode::from(FAILED)
        }
    }
}

/// The mechanism that the arguments name, and how often it is repeated.
fn understood(words: &[&str]) -> Result<(Mechanism, u32), String> {
    let usage = |why: &str| format!("{why}\nusage: mechanism NAME [COUNT]\n{}", list());
    let (name, count) = match words {
        [name] => (name, None),
        [name, count] => (name, Some(count)),
        _ => return Err(usage("name one mechanism")),
    };
    let mechanism =
        find(name).ok_or_else(|| usage(&format!("there is no mechanism {name:?}; choose one")))?;
    let count = match count.map(|text| text.parse()) {
        None => mechanism.count,
        Some(Ok(count)) if count > 0 => count,
        Some(_) => return Err(usage("COUNT: a number from 1 on")),
    };
    Ok((mechanism, count))
}

/// Prints a line on standard error. Unlike `eprintln!`, it does not panic if that is closed.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_count_are_understood_and_all_else_gets_the_list() {
        assert_eq!(understood(&["fork"]).map(|(it, count)| (it.name, count)), Ok(("fork", 100)));
        assert_eq!(understood(&["fork", "7"]).map(|(_, count)| count), Ok(7));
        for words in [&[][..], &["spoon"], &["fork", "0"], &["fork", "x"], &["fork", "1", "2"]] {
            let why = understood(words).err().unwrap();
            assert!(why.contains("usage: mechanism NAME [COUNT]\nsyscall"), "{why}");
        }
    }
}
