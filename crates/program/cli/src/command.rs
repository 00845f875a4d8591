//! The user's own command on the command line: what is repeated, and how.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use experiment::typed::Setting;
use workloads::{command_text, one_line};

use crate::{Failure, complain, wrong};

/// The command, how it is repeated, and what is run around it.
#[derive(Args)]
pub(crate) struct CommandArgs {
    /// A command to time, as it would be typed in a shell; may be repeated: all are timed in turn and
    /// compared with the first. A shell runs it only if it has something that needs one
    #[arg(id = "commands", long = "command", visible_alias = "client", value_name = "CMD")]
    lines: Vec<String>,

    /// The command to time, after --
    #[arg(last = true, value_name = "COMMAND")]
    words: Vec<OsString>,

    /// Name of each command in the results, in order
    #[arg(long, short, value_name = "NAME")]
    name: Vec<String>,

    /// Repetitions of each command in a run [default: 3 s of all commands together, but at least 10 and
    /// at most 1000 of each, judged by the first one; 5 if that takes over 30 s; 1 of `thrashlab limit`,
    /// and 3 of its services]
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: Option<u32>,

    /// Repetitions before these, which do not count [default: none, as a cold start is
    /// found; 1 of `thrashlab limit` with a service]
    #[arg(long, value_name = "N")]
    warmup_runs: Option<u32>,

    /// Longest time of a repetition; a longer one is killed and counts as a lower bound [default: 1h]
    #[arg(long, value_name = "TIME")]
    command_limit: Option<String>,

    /// Run this once before the first repetition
    #[arg(long, value_name = "CMD")]
    setup: Option<String>,

    /// Run this before each repetition, untimed: such as removing what the command creates
    #[arg(long, value_name = "CMD")]
    prepare: Option<String>,

    /// Run this once after the last repetition
    #[arg(long, value_name = "CMD")]
    cleanup: Option<String>,

    /// Which shell runs the command: auto (sh, if it needs one), none, sh, bash [default: auto]
    #[arg(long, value_name = "SHELL", value_parser = ["auto", "none", "sh", "bash"])]
    shell: Option<String>,

    /// Standard input of the command [default: none]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Continue when the command fails; failed repetitions are counted
    #[arg(long, short)]
    ignore_failure: bool,

    /// Start this server in the sandbox before the commands, its clients, which run outside of it
    #[arg(long, value_name = "CMD", requires = "ready")]
    service: Option<String>,

    /// When the service is ready: a port (5432), a text that it writes (output:TEXT), or a command
    /// that then works (pg_isready -q)
    #[arg(long, value_name = "WHAT", requires = "service")]
    ready: Option<String>,

    /// Longest time until the service is ready [default: 1m]
    #[arg(long, value_name = "TIME", requires = "service")]
    start_limit: Option<String>,

    /// Measure a figure that the command prints: 'p99: ([0-9.]+) ms', a regular expression whose
    /// group is the number; may be repeated, and the first one decides
    #[arg(long, value_name = "REGEX")]
    metric: Vec<String>,
}

impl CommandArgs {
    /// Whether a command is named.
    pub(crate) fn is_given(&self) -> bool {
        !(self.lines.is_empty() && self.words.is_empty())
    }

    /// Runs `--cleanup` after an interruption, which has ended the process that runs it otherwise.
    /// Elsewhere than on this machine it is only named.
    pub(crate) fn clean_up(&self, is_here: bool) {
        let Some(line) = &self.cleanup else { return };
        let line_shown = one_line(line).unwrap_or_default();
        if !is_here {
            complain(&format!("thrashlab: interrupted, so --cleanup was not run: {line_shown}"));
            return;
        }
        // Standard output is the result's.
        let mut command = Command::new("sh");
        command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::null());
        let how = match command.status() {
            Ok(status) if status.success() => "--cleanup was run".to_owned(),
            Ok(status) => format!("--cleanup failed ({status}): {line_shown}"),
            Err(error) => format!("--cleanup was not run ({error}): {line_shown}"),
        };
        complain(&format!("thrashlab: interrupted; {how}"));
    }

    /// The job and its parameters, by their names in plans; empty without a command. Fails if there
    /// are any and no command is timed (`is_timed`).
    pub(crate) fn settings(&self, is_timed: bool) -> Result<Vec<Setting>, Failure> {
        let input = self.input.as_ref().map(|path| text(path.as_os_str())).transpose()?;
        let number = |number: Option<u32>| number.map(|number| number.to_string());
        let joined = |lines: &[String]| (!lines.is_empty()).then(|| lines.join("\n"));
        let named = [
            ("name", "name", joined(&self.name)),
            ("input", "input", input),
            ("setup", "setup", self.setup.clone()),
            ("prepare", "prepare", self.prepare.clone()),
            ("cleanup", "cleanup", self.cleanup.clone()),
            ("shell", "shell", self.shell.clone()),
            ("ignore-failure", "failures", self.ignore_failure.then(|| "ignore".to_owned())),
            ("runs", "runs", number(self.runs)),
            ("warmup-runs", "warmup", number(self.warmup_runs)),
            ("command-limit", "limit", self.command_limit.clone()),
            ("service", "service", self.service.clone()),
            ("ready", "ready", self.ready.clone()),
            ("start-limit", "start_limit", self.start_limit.clone()),
            ("metric", "metric", joined(&self.metric)),
        ];
        let mut all = Vec::new();
        if self.is_given() {
            all.push(("job".to_owned(), model::COMMAND.to_owned()));
            all.push(("command.run".to_owned(), self.run()?));
        }
        for (option, name, value) in named {
            let Some(value) = value else { continue };
            if !is_timed {
                return Err(wrong!("--{option} needs a command: write it after --"));
            }
            all.push((format!("command.{name}"), value));
        }
        Ok(all)
    }

    /// The command lines, one line each.
    fn run(&self) -> Result<String, Failure> {
        let words: Vec<String> =
            self.words.iter().map(|word| text(word)).collect::<Result<_, _>>()?;
        if !words.is_empty() {
            return command_text(&words).map_err(wrong);
        }
        let lines = self.lines.iter().map(|line| one_line(line));
        Ok(lines.collect::<Result<Vec<_>, _>>().map_err(wrong)?.join("\n"))
    }
}

fn text(word: &OsStr) -> Result<String, Failure> {
    word.to_str().map(str::to_owned).ok_or_else(|| wrong!("{word:?}: not UTF-8"))
}
