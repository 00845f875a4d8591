//! The thrashlab command.
//!
//! **Invariant:** this crate alone prints and exits. Results go to standard output, progress and
//! complaints to standard error. Exit codes: 0 done, 1 the requested check failed, 2 wrong
//! use, 3 could not measure, 130 interrupted; of a command that is recorded, its own.

/// An error in the user's request, as a failure.
macro_rules! wrong {
    ($($why:tt)*) => { crate::Failure::WrongUse(anyhow::anyhow!($($why)*)) };
}

mod ab;
mod args;
mod attribute;
mod bisect;
mod by_function;
mod by_sampling;
mod cache;
mod cells;
mod command;
mod compare;
mod config;
mod critical_paths;
mod doctor;
mod experiment;
mod export;
mod fail_on;
mod failed_start;
mod fleet;
mod footprint;
mod freeze;
mod guests;
mod hints;
mod history;
mod import;
mod laboratory;
mod levels;
mod limit;
mod manual;
mod mmu;
mod observed_level;
mod option_groups;
#[cfg(test)]
#[path = "../tests/options/page.rs"]
mod options;
mod output;
mod profile;
mod progress;
mod recorded;
mod reference;
mod repeated;
mod report;
mod result_file;
mod run;
mod run_profiles;
mod settings;
mod show;
mod start;
mod sweep;
mod timing;
mod trace;
mod vm;
mod work;

use std::ffi::OsString;
use std::fmt::{Debug, Display};
use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Context;
use clap::FromArgMatches;

use args::{Cli, Command};
pub(crate) use output::{print, print_bytes};
use settings::Settings;
use sys::confine::Confinement;
use trace::TraceCommand;

const INTERRUPTED: u8 = 130;
const NOT_MEASURED: u8 = 3;
/// The requested check failed.
const CHECK_FAILED: u8 = 1;
/// The command line or its files are wrong.
const WRONG_USE: u8 = 2;

enum Failure {
    /// The request is impossible.
    WrongUse(anyhow::Error),
    /// The system did not let it measure.
    NotMeasured(anyhow::Error),
    /// The requested check failed; the printed result shows why.
    CheckFailed,
    /// Ctrl-C.
    Interrupted,
    /// All was done, but the command that was run ended with this code.
    OfCommand(u8),
}

type Result<T, E = Failure> = std::result::Result<T, E>;

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::NotMeasured(error)
    }
}

/// For `map_err`: wrong use.
fn wrong(why: impl Display + Debug + Send + Sync + 'static) -> Failure {
    Failure::WrongUse(anyhow::Error::msg(why))
}

/// A step that fails because the request is impossible.
trait OrWrong<T, E>: Context<T, E> + Sized {
    fn or_wrong(self, step: impl Display + Send + Sync + 'static) -> Result<T> {
        self.context(step).map_err(Failure::WrongUse)
    }
}

impl<T, E, R: Context<T, E>> OrWrong<T, E> for R {}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let outcome = started(arguments);
    let (error, code) = match outcome {
        Ok(()) => match progress::events_error() {
            None => return ExitCode::SUCCESS,
            Some(error) => (anyhow::anyhow!("the events are incomplete: {error}"), NOT_MEASURED),
        },
        Err(Failure::CheckFailed) => return ExitCode::from(CHECK_FAILED),
        Err(Failure::Interrupted) => return ExitCode::from(INTERRUPTED),
        Err(Failure::OfCommand(code)) => return ExitCode::from(code),
        Err(Failure::WrongUse(error)) => (error, WRONG_USE),
        Err(Failure::NotMeasured(error)) => (error, NOT_MEASURED),
    };
    complain(&format!("thrashlab: {}", chain(&error)));
    ExitCode::from(code)
}

/// Reads the command line, with the user's settings as defaults, and runs the command.
fn started(arguments: Vec<OsString>) -> Result<()> {
    if arguments.len() <= 1 && std::io::stdout().is_terminal() {
        return print(hints::QUESTIONS);
    }
    let command = args::command();
    let command = match option_groups::asks_short(&arguments) {
        true => option_groups::short(command),
        false => command,
    };
    let settings = Settings::read(&command);
    let mut command = match &settings {
        Ok(settings) => settings.as_defaults(command).color(settings.color(&arguments)),
        Err(_) => command,
    };
    let matches = command.try_get_matches_from_mut(&arguments);
    let matches =
        matches.unwrap_or_else(|error| hints::with_tip(error, &command, &arguments).exit());
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    // Help must not depend on a file that is to be mended with its help.
    let is_help = match &cli.command {
        Command::Man(_) | Command::Completions { .. } => true,
        Command::Config(config) => config.path,
        _ => false,
    };
    let settings = if is_help { settings.unwrap_or_default() } else { settings? };
    settings.enforce(&matches);
    output::copy_to(cli.markdown_copy);
    output::with_details(cli.details);
    result_file::open_all(&matches)?;
    if reads_only_files(&cli.command) {
        // One more wall around the parsers of files of others; most containers permit it, not all.
        let _ = sys::confine::confine(Confinement::FilesOnly);
    }
    execute(cli.command, &settings)
}

/// Whether a command needs nothing but files: no program, no network, no other process.
fn reads_only_files(command: &Command) -> bool {
    use Command::{
        Attribute, Compare, Doctor, Export, Freeze, History, Import, Reference, Report, Show, Trace,
    };
    match command {
        Attribute(_) | Export(_) | Import(_) | Reference(_) | Report(_) | Show(_) => true,
        // Observing a run again boots a guest.
        Compare(compare) => !compare.by_function,
        Doctor(doctor) => doctor.reads_files(),
        Freeze(freeze) => freeze.reads_files(),
        History(history) => history.reads_files(),
        Trace(trace) => matches!(trace, TraceCommand::Convert(_) | TraceCommand::Stat(_)),
        _ => false,
    }
}

fn execute(command: Command, settings: &Settings) -> Result<()> {
    match command {
        Command::Config(args) => config::config(&args, settings, &args::command()),
        Command::Ab(args) => ab::ab(&args),
        Command::Run(args) => run::run(&args),
        Command::Bisect(args) => bisect::bisect(&args),
        Command::Experiment(args) => experiment::experiment(&args),
        Command::Cells(args) => cells::cells(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Limit(args) => limit::limit(&args),
        Command::History(args) => history::history(&args),
        Command::Freeze(args) => freeze::freeze(&args),
        Command::Show(args) => show::show(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Attribute(args) => attribute::attribute(&args),
        Command::Report(args) => report::report(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Footprint(args) => footprint::footprint(&args),
        Command::Profile(args) => profile::profile(&args),
        Command::Mmu(args) => mmu::mmu(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Vm(args) => vm::vm(&args),
        Command::Cache(args) => cache::cache(&args),
        Command::Import(args) => import::import(&args),
        Command::Export(args) => export::export(&args),
        Command::Reference(args) => output::show(&reference::list(), &args),
        Command::Completions { shell } => manual::completions(shell, args::command()),
        Command::Man(args) => manual::man(&args, args::command()),
    }
}

/// An error with its causes, each once.
fn chain(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| {
        match text.is_empty() {
            true => cause,
            false if text.contains(&cause) => text,
            false => format!("{text}: {cause}"),
        }
    })
}

/// Prints a line on standard error. Unlike `eprintln!`, it does not panic if that is closed.
fn complain(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{}", model::shown::shown(text));
}
