//! Starting a command of the user in this terminal, as `time` does, to look at it while it runs.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use keep::open_patiently;
use keep::running::Running;
use sys::process::Exit;
use workloads::{command_text, words_of};

use crate::{Failure, OrWrong, Result, complain};

/// What a shell adds to the number of a signal that ended a command.
const OF_SIGNALS: i32 = 128;

#[derive(Args)]
pub(crate) struct StartArgs {
    /// Which shell runs the command: auto (sh, if it is one text that needs one), none, sh, bash
    /// [default: auto]
    #[arg(long, value_name = "SHELL", requires = "words", value_parser = ["auto", "none", "sh", "bash"])]
    shell: Option<String>,

    /// Standard input of the command [default: that of thrashlab]
    #[arg(long, value_name = "FILE", requires = "words")]
    input: Option<PathBuf>,

    /// The command, after --; it keeps the terminal, and its exit code is passed on
    #[arg(last = true, value_name = "COMMAND")]
    words: Vec<OsString>,
}

impl StartArgs {
    pub(crate) fn is_given(&self) -> bool {
        !self.words.is_empty()
    }

    /// The words of the command line as typed, for titles.
    pub(crate) fn text(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    /// The program and its arguments: the words after `--` themselves, unless they are one text
    /// with blanks or a shell is requested.
    pub(crate) fn program(&self) -> Result<Vec<OsString>> {
        let shell = self.shell.as_deref().unwrap_or("auto");
        let is_text =
            matches!(&self.words[..], [one] if one.to_string_lossy().contains(char::is_whitespace));
        if !is_text && matches!(shell, "auto" | "none") {
            return Ok(self.words.clone());
        }
        let text = |word: &OsString| {
            word.to_str().map(str::to_owned).ok_or_else(|| wrong!("{word:?}: not UTF-8"))
        };
        let words: Vec<String> = self.words.iter().map(text).collect::<Result<_>>()?;
        let line = command_text(&words).map_err(crate::wrong)?;
        let words = words_of(&line, shell).map_err(crate::wrong)?;
        Ok(words.into_iter().map(OsString::from).collect())
    }

    /// Its standard input, if that is a file.
    pub(crate) fn input(&self) -> Result<Option<File>> {
        let open = |path: &PathBuf| {
            open_patiently(path, File::options().read(true))
                .or_wrong(format!("--input {}", path.display()))
        };
        self.input.as_ref().map(open).transpose()
    }

    /// Starts it with the standard streams of this process.
    pub(crate) fn start(&self) -> Result<Running> {
        let (words, input) = (self.program()?, self.input()?);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        if let Some(input) = input {
            command.stdin(input);
        }
        instrument::program()
            .and_then(|agent| Running::start(&mut command, agent, || Ok(())))
            .or_wrong(format!("{}: cannot be started", words[0].display()))
    }
}

/// The command's exit code as this program's own, as a shell reports it.
pub(crate) fn pass_on(exit: Exit) -> Result<()> {
    let code = match exit {
        Exit::Code(code) => code,
        Exit::Signal(number) => OF_SIGNALS + number,
    };
    match u8::try_from(code) {
        Ok(0) => Ok(()),
        Ok(code) => {
            complain(&format!("the command ended with {code}"));
            Err(Failure::OfCommand(code))
        }
        Err(_) => Err(Failure::OfCommand(u8::MAX)),
    }
}
