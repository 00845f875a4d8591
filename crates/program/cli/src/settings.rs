//! Where the values of options come from: the command line, the environment, the user's
//! configuration file, or what is built in, in this order.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::{env, fs, io};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, ColorChoice, Command, Id};
use keep::folders::user_folder;

use crate::{OrWrong, Result};

/// The settings: long options, `vm` (the SETTINGS of `thrashlab vm`), and `results`.
pub(crate) const NAMES: [&str; 11] = [
    "color",
    "details",
    "jobs",
    "kernel",
    "margin",
    RESULTS,
    "ssh",
    "subject",
    "vm",
    "wall-limit",
    "work-dir",
];
/// The folder in which results folders without `--output` are created.
const RESULTS: &str = "results";

const GIVEN: &str = "given";
const ENVIRONMENT: &str = "environment";
const FILE: &str = "file";

/// Values of settings that are not built in, and where they come from.
#[derive(Default)]
pub(crate) struct Settings(BTreeMap<String, (String, &'static str)>);

/// Where the options of this invocation come from, if not built in.
static ORIGINS: OnceLock<BTreeMap<String, String>> = OnceLock::new();
static COLOR: OnceLock<ColorChoice> = OnceLock::new();

impl Settings {
    /// Reads environment and file. Fails when the file cannot be read, or a value is wrong.
    pub(crate) fn read(command: &Command) -> Result<Self> {
        let check = |name: &str, value: &str| {
            option(command, name).map_or(Ok(()), |option| check(option, value))
        };
        let mut settings = Self::default();
        if let Some(path) = path() {
            let text = match fs::read_to_string(&path) {
                Err(error) if is_absent(&error) => String::new(),
                read => read.or_wrong(format!("read {}", path.display()))?,
            };
            let values =
                store::config::parse(&text, &NAMES, check).or_wrong(path.display().to_string())?;
            let values = values.into_iter().map(|(name, value)| (name, (value, FILE)));
            settings.0.extend(values);
        }
        for name in NAMES {
            let Some((variable, value)) = in_environment(name) else { continue };
            check(name, &value).map_err(|why| wrong!("{variable}={value}: {why}"))?;
            settings.0.insert(name.to_owned(), (value, ENVIRONMENT));
        }
        Ok(settings)
    }

    /// A value that is not built in, and its origin.
    pub(crate) fn get(&self, name: &str) -> Option<(&str, &'static str)> {
        self.0.get(name).map(|(value, origin)| (value.as_str(), *origin))
    }

    fn value(&self, name: &str) -> Option<&str> {
        Some(self.get(name)?.0)
    }

    /// The command line with these values as defaults of its options.
    pub(crate) fn as_defaults(&self, command: Command) -> Command {
        if self.0.is_empty() {
            return command;
        }
        let set = |option: Arg| match self.value(name(&option)) {
            Some(value) => {
                let help = help(&option);
                option.help(help).default_value(&*value.to_owned().leak()).hide_default_value(false)
            }
            None => option,
        };
        command.mut_args(set).mut_subcommands(|command| self.as_defaults(command))
    }

    /// Whether to use colours, for help and errors, which are printed while arguments are read.
    pub(crate) fn color(&self, arguments: &[std::ffi::OsString]) -> ColorChoice {
        let options =
            || arguments.iter().map(|it| it.to_str().unwrap_or("")).take_while(|it| *it != "--");
        let next = options().skip_while(|it| *it != "--color").nth(1);
        let typed = next.or_else(|| options().find_map(|it| it.strip_prefix("--color=")));
        typed.or(self.value("color")).and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    /// Takes these settings, with the options that were given, for those of this process.
    pub(crate) fn enforce(&self, matches: &ArgMatches) {
        let mut leaf = matches;
        while let Some((_, inner)) = leaf.subcommand() {
            leaf = inner;
        }
        // Groups, which derived types are, begin with a capital letter.
        let options = leaf.ids().map(Id::as_str).filter(|id| !id.starts_with(char::is_uppercase));
        let origin = |id: &str| {
            let name = id.replace('_', "-");
            let is_given = leaf.value_source(id) == Some(ValueSource::CommandLine);
            let origin = if is_given { GIVEN } else { self.get(&name)?.1 };
            Some((name, origin.to_owned()))
        };
        let _ = ORIGINS.set(options.filter_map(origin).collect());
        let _ = COLOR.set(leaf.get_one("color").copied().unwrap_or_default());
        if let Some(folder) = self.value(RESULTS) {
            results::run_files::set_default_folder(folder.into());
        }
    }
}

/// Whether an option was given, and is not a default of the user's.
pub(crate) fn is_given(name: &str) -> bool {
    ORIGINS.get().and_then(|origins| origins.get(name)).is_some_and(|origin| origin == GIVEN)
}

/// Where the options of this invocation come from, for run files; those built in are absent.
pub(crate) fn origins() -> BTreeMap<String, String> {
    ORIGINS.get().cloned().unwrap_or_default()
}

pub(crate) fn color() -> ColorChoice {
    COLOR.get().copied().unwrap_or_default()
}

/// The configuration file. Root through sudo reads that of HOME only: XDG_CONFIG_HOME may still be
/// that of the user who called sudo.
pub(crate) fn path() -> Option<PathBuf> {
    let is_sudo = rustix::process::geteuid().is_root() && env::var_os("SUDO_UID").is_some();
    // A variable without a name is never set.
    let variable = if is_sudo { "" } else { "XDG_CONFIG_HOME" };
    Some(user_folder(variable, ".config")?.join("config.toml"))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The variable of a setting with its value. Colours have their common variables as well.
fn in_environment(name: &str) -> Option<(String, String)> {
    let own = format!("THRASHLAB_{}", name.to_uppercase().replace('-', "_"));
    let is_set = |variable: &str| env::var_os(variable).is_some_and(|value| !value.is_empty());
    match env::var(&own) {
        Ok(value) if !value.is_empty() => return Some((own, value)),
        _ if name != "color" => return None,
        _ => {}
    }
    let is_forced =
        is_set("CLICOLOR_FORCE") && env::var_os("CLICOLOR_FORCE").is_some_and(|it| it != "0");
    let common =
        [("NO_COLOR", is_set("NO_COLOR"), "never"), ("CLICOLOR_FORCE", is_forced, "always")];
    let (variable, _, value) = common.into_iter().find(|(_, is_set, _)| *is_set)?;
    Some((variable.to_owned(), value.to_owned()))
}

/// The name of an option among the settings.
fn name(option: &Arg) -> &str {
    let vm = "vm";
    option.get_long().unwrap_or(if option.get_id() == vm { vm } else { "" })
}

/// The help of an option without its default.
pub(crate) fn help(option: &Arg) -> String {
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    help.split(" [default").next().unwrap_or_default().to_owned()
}

/// The first option of this name.
pub(crate) fn option<'a>(command: &'a Command, named: &str) -> Option<&'a Arg> {
    let own = command.get_arguments().find(|option| name(option) == named);
    own.or_else(|| command.get_subcommands().find_map(|inner| option(inner, named)))
}

/// Reads a value as the option does. The error is why it cannot.
fn check(option: &Arg, value: &str) -> Result<(), String> {
    let alone = Arg::new("value").value_parser(option.get_value_parser().clone());
    let command = Command::new("").no_binary_name(true).arg(alone.allow_hyphen_values(true));
    command.try_get_matches_from([value]).map(drop).map_err(|error| {
        let known: Vec<_> =
            option.get_possible_values().iter().map(|it| it.get_name().to_owned()).collect();
        let reason = error.source().map(ToString::to_string);
        reason.unwrap_or_else(|| format!("is not one of {}", known.join(", ")))
    })
}
