//! One program of a build: its log, its end, and the end of all that it starts.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use keep::AgentProgram;
use keep::running::Running;
use sys::process::Exit;

use crate::error::{BuildError, Result};

/// Most lines of a log in a message.
const SHOWN_LINES: usize = 3;
/// What lines of a log say that name a cause.
const CAUSES: [&str; 5] =
    [": error: ", ": fatal error: ", "undefined reference", "modpost: ", "cannot find"];

/// What a build needs of its caller.
pub struct BuildControl<'a> {
    /// The agent, whose cleanup process ends a build when this process is killed.
    pub agent: &'a AgentProgram,
    /// Whether the user requested a stop.
    pub stop: &'a dyn Fn() -> bool,
    /// Receives what takes long.
    pub say: &'a mut dyn FnMut(&str),
}

impl BuildControl<'_> {
    pub(crate) fn say(&mut self, text: &str) {
        (self.say)(text);
    }

    /// Runs a program, which gets nothing to read, and adds what it prints to a log. Fails with what
    /// the log says when it fails, and when the user stops it; then nothing of it runs any longer.
    pub(crate) fn run(&self, command: &mut Command, log: &Path) -> Result<()> {
        let open = || File::options().create(true).append(true).open(log);
        let begin = open().and_then(|file| file.metadata()).map_err(BuildError::io(log))?.len();
        let [output, errors] = [open(), open()].map(|file| file.map_err(BuildError::io(log)));
        command.stdin(Stdio::null()).stdout(output?).stderr(errors?);
        // The make that may have started this program has its own.
        command.env_remove("MAKEFLAGS").env_remove("MFLAGS").env("LC_ALL", "C");
        let name = command.get_program().to_owned();
        let started = |error| BuildError::Unusable(format!("start {}: {error}", name.display()));
        let mut running = Running::start(command, self.agent, || Ok(())).map_err(started)?;
        let waiting = |error| BuildError::Unusable(format!("wait for {}: {error}", name.display()));
        match running.finish(self.stop).map_err(waiting)? {
            _ if (self.stop)() || running.was_interrupted() => Err(BuildError::Interrupted),
            Some(Exit::Code(0)) => Ok(()),
            _ => {
                let text = fs::read(log).map_err(BuildError::io(log))?;
                let text = text.get(begin as usize..).unwrap_or_default();
                let cause = cause(&String::from_utf8_lossy(text));
                Err(BuildError::Broken(format!("{cause} (all of it: {})", log.display())))
            }
        }
    }
}

/// The lines of a log that say why: the first ones that name an error, else the last ones.
fn cause(log: &str) -> String {
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let names = |line: &&&str| CAUSES.iter().any(|cause| line.contains(cause));
    let named: Vec<&str> = lines.iter().filter(names).take(SHOWN_LINES).copied().collect();
    match named.is_empty() {
        false => named.join("; "),
        true => lines[lines.len().saturating_sub(SHOWN_LINES)..].join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_the_first_error_else_the_end() {
        let log =
            "  CC  a.o\nmm/a.c:1:2: error: no\n  CC  b.o\nmake: *** [Makefile:1: mm] Error 2\n";
        assert_eq!(cause(log), "mm/a.c:1:2: error: no");
        assert_eq!(cause("one\ntwo\n\nthree\nfour\n"), "two; three; four");
        assert_eq!(cause(""), "");
    }
}
