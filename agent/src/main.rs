//! The program that measures: everything that runs next to or inside of what is measured.
//!
//! Its first argument is a role. It has no options and prints nothing for people: `thrashlab` starts
//! it, reads what it writes and explains it.

use std::ffi::{CStr, OsString};
use std::io::Write;
use std::process::ExitCode;

/// As the kernel shows it, in at most 15 bytes.
const NAME: &CStr = c"thrashlab-agent";
/// Exit code of a role that could not do its work.
const FAILED: u8 = 3;
/// Exit code of a child whose code has a mistake, as Rust's programs have it.
const PANICKED: i32 = 101;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        complain(&panic.to_string());
        // Nothing is unwound: whatever this process owns is in the journal, or dies with it.
        sys::process::exit_now(PANICKED);
    }));
    // In lists of processes it would have the number of the descriptor that it was started from.
    let _ = rustix::thread::set_name(NAME);
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = guest::applet(&arguments) {
        return ExitCode::from(code);
    }
    let role = arguments.get(1).and_then(|role| role.to_str()).unwrap_or_default();
    let rest = arguments.get(2..).unwrap_or_default();
    match act(role, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            complain(&why);
            ExitCode::from(FAILED)
        }
    }
}

/// Plays a role with its arguments; the error is the reason that the starter shows.
fn act(role: &str, arguments: &[OsString]) -> Result<(), String> {
    match role {
        agent::ROLE => agent::serve(std::io::stdin().lock(), std::io::stdout().lock()),
        workloads::TOOL_ROLE => workloads::serve(&texts(arguments), &mut std::io::stdout().lock()),
        keep::CLEANUP_ROLE => keep::serve(arguments),
        lease::ROLE => lease::serve(&texts(arguments)),
        guest::ROLE => guest::main(arguments.first().and_then(|stage| stage.to_str())),
        _ => Err("this is a part of thrashlab, which starts it".to_owned()),
    }
}

fn texts(arguments: &[OsString]) -> Vec<String> {
    arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect()
}

/// Prints a line on standard error. Unlike `eprintln!`, it does not panic if that is closed.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
