//! `thrashlab config`: the settings in force, and where each comes from.

use clap::{Args, Command};
use render::{Document, Table};
use serde_json::json;

use crate::output::{OutputArgs, show};
use crate::settings::{NAMES, Settings, option, path};
use crate::{Result, print};

const EXAMPLES: &str = "\
The file is $XDG_CONFIG_HOME/thrashlab/config.toml, else
~/.config/thrashlab/config.toml, such as:
  subject = \"sandbox:mem=1G\"
  jobs = 2
A setting is the default of an option in every command that has it; `vm` is the
machine of `thrashlab vm`, and `results` the folder for results without
--output. Options override the environment (THRASHLAB_SUBJECT,
THRASHLAB_WORK_DIR, …), which overrides the file.

Examples:
  thrashlab config
  thrashlab config --json
  thrashlab config --path";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConfigArgs {
    /// Print the path of the configuration file, whether it exists or not
    #[arg(long, conflicts_with_all = ["format", "output", "json"])]
    pub(crate) path: bool,

    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn config(args: &ConfigArgs, settings: &Settings, command: &Command) -> Result<()> {
    let path =
        path().ok_or_else(|| wrong!("HOME is not set, so there is no configuration file"))?;
    if args.path {
        return print(&format!("{}\n", path.display()));
    }
    let row = |name: &str| match settings.get(name) {
        Some((value, origin)) => [name, value, origin].map(str::to_owned),
        None => [name.to_owned(), built_in(command, name), "default".to_owned()],
    };
    let rows = NAMES.map(row);
    let data = rows
        .iter()
        .map(|[name, value, origin]| json!({ "name": name, "value": value, "origin": origin }));
    let data = json!({ "file": path, "settings": data.collect::<Vec<_>>() });
    let caption = path.display().to_string();
    let table = Table::of(caption, ["setting", "value", "from"], rows);
    show(&Document::of(vec![table.into()]).with_data(data), &args.output)
}

/// What applies where nothing was set: the option's default, or what its help states.
fn built_in(command: &Command, name: &str) -> String {
    let Some(option) = option(command, name) else {
        return results::run_files::default_folder().display().to_string();
    };
    let defaults: Vec<_> =
        option.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    let stated = help.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
    match (defaults.join(","), stated) {
        (default, Some((stated, _))) if default.is_empty() => stated.to_owned(),
        (default, _) => default,
    }
}
