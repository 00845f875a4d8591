//! Manual pages and completion scripts, from the declaration of the command line.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Command};

use crate::{OrWrong, Result, print, print_bytes};

#[derive(Args)]
pub(crate) struct ManArgs {
    /// The command, such as `run` or `mmu run` [default: thrashlab itself]
    command: Vec<String>,
    /// Write the pages of all commands into this new folder, for a package
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    all: Option<PathBuf>,
}

/// Prints the manual page of a command, or writes all of them.
pub(crate) fn man(arguments: &ManArgs, mut page: Command) -> Result<()> {
    page.build();
    if let Some(folder) = &arguments.all {
        fs::create_dir(folder).or_wrong(format!("create the new folder {}", folder.display()))?;
        return write_pages(&page, folder);
    }
    let names = &arguments.command;
    for name in names {
        page = page
            .find_subcommand(name)
            .cloned()
            .or_wrong(format!("no command is named {:?}; see thrashlab --help", names.join(" ")))?;
    }
    print(&manual_page(page)?)
}

/// Writes `thrashlab.1`, `thrashlab-run.1` and so on: a page of each command that help shows.
fn write_pages(command: &Command, folder: &Path) -> Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    // Section 1 of the manual: commands.
    let file = folder.join(name).with_extension("1");
    let page = manual_page(command.clone())?;
    fs::write(&file, page).with_context(|| format!("write {}", file.display()))?;
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help");
    shown.into_iter().try_for_each(|command| write_pages(command, folder))
}

fn manual_page(command: Command) -> Result<String> {
    let mut bytes = Vec::new();
    // The date would be that of the build.
    let page = clap_mangen::Man::new(command)
        .source(concat!("thrashlab ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    page.render(&mut bytes).context("write the manual page")?;
    Ok(String::from_utf8_lossy(&bytes).replace(".SH EXTRA", ".SH EXAMPLES"))
}

/// Prints a completion script.
pub(crate) fn completions(shell: clap_complete::Shell, mut command: Command) -> Result<()> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut command, "thrashlab", &mut bytes);
    print_bytes(&bytes)
}
