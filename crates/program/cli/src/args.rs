//! The command line as it is typed.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{ColorChoice, CommandFactory, Parser, Subcommand};
use model::Architecture;

use crate::option_groups;
use crate::output::OutputArgs;

/// A laboratory for computers that have slowed down.
#[derive(Parser)]
#[command(
    name = "thrashlab",
    version,
    about = "A laboratory for computers that have slowed down",
    max_term_width = 80
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Use colours: `auto` (on a terminal), `always` or `never` [default: auto]
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        default_value_t,
        display_order = 900,
        hide_default_value = true,
        hide_possible_values = true
    )]
    color: ColorChoice,

    /// Print all that is known of a result, not only what fits on a screen
    #[arg(long, global = true, display_order = 901)]
    pub(crate) details: bool,

    /// Append the result as Markdown to this file: for the Python package, whose results are JSON
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    pub(crate) markdown_copy: Option<PathBuf>,
}

const REFERENCE_EXAMPLES: &str = "\
Examples:
  thrashlab reference
  thrashlab show reference:multics/experiment1
  thrashlab compare reference:resp1/2.4.20 reference:resp1/2.6.0-test11";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  thrashlab completions bash > ~/.local/share/bash-completion/completions/thrashlab
  thrashlab completions zsh > ~/.zfunc/_thrashlab
  thrashlab completions fish > ~/.config/fish/completions/thrashlab.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  thrashlab man | man -l -
  thrashlab man mmu run | man -l -
  thrashlab man --all pages            all of them, for a package";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure response times under each load
    Run(Box<crate::run::RunArgs>),
    /// Run two versions or settings in turn until it is certain
    Ab(Box<crate::ab::AbArgs>),
    /// Find the level or commit at which a result changed
    Bisect(Box<crate::bisect::BisectArgs>),
    /// Show what changed from kernel to kernel, step by step
    History(Box<crate::history::HistoryArgs>),
    /// Show how long a machine is gone when memory runs out
    Freeze(Box<crate::freeze::FreezeArgs>),
    /// Run a plan of factors and levels; resume a stopped one
    Experiment(Box<crate::experiment::ExperimentArgs>),
    /// Run listed cells: the worker on a node of a fleet
    #[command(hide = true)]
    Cells(crate::cells::CellsArgs),
    /// Measure a cost over a range of a parameter: curve and knee
    Sweep(Box<crate::sweep::SweepArgs>),
    /// Find the memory a command needs: what each limit costs
    Limit(Box<crate::limit::Arguments>),
    /// Print results: a folder, a run file or a published table
    Show(crate::show::ShowArgs),
    /// Show what differs between results, and how certain that is
    Compare(crate::compare::CompareArgs),
    /// Show which factor or part of the work caused a change
    Attribute(crate::attribute::AttributeArgs),
    /// Write results as a page with charts, Markdown or Vega-Lite
    Report(crate::report::ReportArgs),
    /// Show what costs this machine its time, and how much
    Doctor(crate::doctor::DoctorArgs),
    /// Count the pages that processes map, touch and share
    Footprint(crate::footprint::FootprintArgs),
    /// Show in which functions a command or a run spends time
    Profile(crate::profile::ProfileArgs),
    /// Simulate MMUs: Sun-4 pmegs, TLBs, page walks, miss ratios
    #[command(subcommand, after_help = crate::mmu::EXAMPLES)]
    Mmu(crate::mmu::MmuCommand),
    /// Record, convert and summarise memory traces of programs
    #[command(subcommand, after_help = crate::trace::EXAMPLES)]
    Trace(crate::trace::TraceCommand),
    /// Boot, inspect and verify deterministic virtual machines
    #[command(subcommand, after_help = crate::vm::EXAMPLES)]
    Vm(Box<crate::vm::VmCommand>),
    /// Show or remove cached kernels, booted machines and cells
    #[command(subcommand, after_help = crate::cache::EXAMPLES)]
    Cache(crate::cache::CacheCommand),
    /// Read results of other programs
    Import(crate::import::ImportArgs),
    /// Write results as CSV, Parquet, OpenMetrics, Go benchmarks
    Export(crate::export::ExportArgs),
    /// List the published figures that come with thrashlab
    #[command(after_help = REFERENCE_EXAMPLES)]
    Reference(OutputArgs),
    /// Show the settings in force, and where each comes from
    Config(crate::config::ConfigArgs),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES, hide = true)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of a command
    #[command(after_help = MAN_EXAMPLES, hide = true)]
    Man(crate::manual::ManArgs),
}

/// The verbs by purpose, in the order of the help.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["run", "experiment", "sweep", "limit", "freeze"]),
    ("Compare", &["ab", "compare", "bisect", "history"]),
    ("Explain", &["attribute", "doctor", "footprint", "profile"]),
    ("Simulate", &["mmu", "trace"]),
    ("Results", &["show", "report", "import", "export", "reference"]),
    ("Machine", &["vm", "cache", "config"]),
];

/// The command line, with the verbs grouped by purpose in the help.
pub(crate) fn command() -> clap::Command {
    let command = option_groups::grouped(Cli::command());
    let styles = command.get_styles();
    let (heading, literal) = (styles.get_header(), styles.get_literal());
    // All of it fits on a terminal of 24 lines.
    let mut help =
        String::from("{usage-heading} {usage}; `COMMAND --help` has options and examples\n");
    for (group, verbs) in GROUPS {
        for (row, verb) in verbs.iter().enumerate() {
            let group = if row == 0 { group } else { "" };
            let about = command.find_subcommand(verb).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(
                help,
                "{heading}{group:<10}{heading:#}{literal}{verb:<12}{literal:#}{about}"
            );
        }
    }
    command.help_template(help.trim_end().to_owned()).long_version(long_version())
}

/// The version, and the identities of the agents: results of equal agents are of one instrument.
fn long_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let agents = instrument::identities();
        let line = |(architecture, hash): (Architecture, &str)| {
            format!("\nagent for {}: {hash}", architecture.name())
        };
        env!("CARGO_PKG_VERSION").to_owned() + &agents.map(line).collect::<String>()
    });
    &VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_all_commands_are_consistent() {
        command().debug_assert();
    }

    #[test]
    fn the_help_has_each_command_once_and_fits_a_screen() {
        let mut command = command();
        let visible = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut names: Vec<&str> = visible.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied().collect();
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, names, "each command is in one group of GROUPS");
        let help = command.render_help().to_string();
        assert!(help.lines().count() <= 24, "{help}");
    }

    /// Checks a command and those below it.
    fn assert_help(command: &mut clap::Command, path: &str) {
        let help = command.render_long_help().to_string();
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{path}\n{help}");
        let begins = format!("\n  thrashlab {path}");
        let has_example = path.is_empty() || help.contains("Examples:") && help.contains(&begins);
        assert!(has_example, "{path}\n{help}");
        let shown = |inner: &&mut clap::Command| !inner.is_hide_set() && inner.get_name() != "help";
        for inner in command.get_subcommands_mut().filter(shown) {
            let path = format!("{path} {}", inner.get_name());
            assert_help(inner, path.trim_start());
        }
    }

    #[test]
    fn each_command_has_an_example_and_no_help_is_wider_than_80_columns() {
        assert_help(&mut command(), "");
    }
}
