//! What was meant by a command line that is refused: a command without its `--`, and options by
//! the names that other programs have for them.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use model::shown::quoted;

/// The argument of commands that take a command of the user.
const WORDS: &str = "words";

/// Options of hyperfine and `time`, and what has their effect here.
const OF_OTHERS: [(&[&str], &str); 13] = [
    (&["-w", "--warmup"], "--warmup-runs N repeats a command before the repetitions that count"),
    (&["-r", "-m", "-M", "--min-runs", "--max-runs"], "--runs N is the number of repetitions"),
    (&["-p"], "--prepare CMD runs before each repetition"),
    (&["-c"], "--cleanup CMD runs once after the last repetition"),
    (&["-s"], "--setup CMD runs once before the first repetition"),
    (&["-S"], "--shell SHELL names the shell of the command"),
    (&["-N"], "--shell none starts the command without a shell"),
    (
        &["--export-json", "--export-csv", "--export-markdown", "--export-asciidoc"],
        "thrashlab export RESULTS --format hyperfine -o FILE writes hyperfine's JSON, --format csv \
         a table; --format markdown prints Markdown",
    ),
    (
        &["--show-output"],
        "what a command prints is not shown; write it to a file in the command: \
         --command './prog > out'",
    ),
    (
        &["-L", "--parameter-list", "-P", "--parameter-scan", "-D"],
        "several --command CMD are timed in turn; thrashlab experiment varies factors of a plan",
    ),
    (&["--command-name"], "--name NAME is the name of a command"),
    (&["-u", "--time-unit", "--style", "--sort"], "thrashlab run --json prints all figures in ns"),
    (&["--reference"], "the first --command is the one that the others are compared with"),
];

/// The error with a tip on what was meant, if that is known.
pub(crate) fn with_tip(mut error: Error, command: &Command, arguments: &[OsString]) -> Error {
    let words: Vec<String> =
        arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => {
            text(&error, ContextKind::InvalidArg).and_then(|it| meant(&it, command, &words))
        }
        ErrorKind::ValueValidation => text(&error, ContextKind::InvalidValue)
            .and_then(|it| after_dashes(&it, command, &words)),
        ErrorKind::InvalidSubcommand if error.get(ContextKind::SuggestedSubcommand).is_none() => {
            unknown_verb(&words)
        }
        ErrorKind::MissingRequiredArgument => two_commands(command, &words),
        _ => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::Suggested);
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn meant(argument: &str, command: &Command, words: &[String]) -> Option<String> {
    if !argument.starts_with('-') {
        return after_dashes(argument, command, words);
    }
    let (verb, _) = verb(command, words);
    let takes_command = verb.get_arguments().any(|it| it.get_id() == "commands");
    let name = argument.split('=').next().unwrap_or(argument);
    let known = OF_OTHERS.iter().find(|(names, _)| names.contains(&name));
    known.filter(|_| takes_command).map(|(_, tip)| (*tip).to_owned())
}

/// How to time a program that stands in the place of a command.
fn unknown_verb(words: &[String]) -> Option<String> {
    let is_program = words.first().is_some_and(|word| !word.starts_with('-'));
    let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    is_program.then(|| {
        format!(
            "to time a command of yours, write it after --: thrashlab run -- {}",
            line.join(" ")
        )
    })
}

/// How to compare two command lines that stand where `ab` expects a factor and one level.
fn two_commands(command: &Command, words: &[String]) -> Option<String> {
    let (verb, depth) = verb(command, words);
    let given = words.get(depth..)?;
    let [first, second] = given.get(..2)? else { return None };
    let are_values = given.len() == 2 || given[2].starts_with('-');
    let is_known = experiment::is_parameter(first) || ["command", "git", "thp"].contains(&&**first);
    if verb.get_name() != "ab"
        || is_known
        || !are_values
        || [first, second].iter().any(|it| it.starts_with('-'))
    {
        return None;
    }
    let [first, second] = [first, second].map(|word| quoted(word));
    Some(format!("two command lines are compared by: thrashlab ab command {first} {second}"))
}

/// What one can ask, for those who typed no command.
pub(crate) const QUESTIONS: &str = "\
What can I ask?

  Is my program slower than before?     thrashlab ab command './old' './new'
  How long does it take, also on a      thrashlab run -- ./program
  busy machine?                         thrashlab run --load cpuload -- ./program
  How much memory does it need?         thrashlab limit -- ./program
  Why does this machine feel slow?      thrashlab doctor
  How does it respond under load?       thrashlab run --quick

All commands: thrashlab --help
";

/// The command line with `--` before the user's command.
fn after_dashes(argument: &str, command: &Command, words: &[String]) -> Option<String> {
    let (verb, depth) = verb(command, words);
    let takes_words = verb.get_arguments().any(|it| it.get_id() == WORDS);
    let start = depth + words.iter().skip(depth).position(|word| word == argument)?;
    let before: Vec<String> = words[..start].iter().map(|word| quoted(word)).collect();
    let after: Vec<String> = words[start..].iter().map(|word| quoted(word)).collect();
    let is_program = argument.starts_with(|letter: char| !letter.is_ascii_digit());
    (takes_words && is_program).then(|| {
        format!("a command goes after --: thrashlab {} -- {}", before.join(" "), after.join(" "))
    })
}

/// The command that the first words name, and how many of them do.
fn verb<'a>(mut command: &'a Command, words: &[String]) -> (&'a Command, usize) {
    let mut depth = 0;
    while let Some(inner) = words.get(depth).and_then(|word| command.find_subcommand(word)) {
        (command, depth) = (inner, depth + 1);
    }
    (command, depth)
}
