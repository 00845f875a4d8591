//! The page `docs/options.md`, which is generated: `UPDATE=1 cargo test -p cli options` writes it.

use std::collections::BTreeMap;
use std::fs;

use clap::{Arg, Command};

use crate::settings::help;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/options.md");

const HEAD: &str = "\
# Options

An option means the same in every command that has it; exceptions are listed below.
This page is generated from the command line: `UPDATE=1 cargo test -p cli options`.
`thrashlab COMMAND --help` has the details.
";

/// Options that mean something else in some commands, and why they may.
const DIFFERENT: [(&str, &str); 11] = [
    ("all", "all of what the command counts, lists or removes"),
    ("at", "a point of a run in the deterministic machine, or a time of a recording"),
    ("blocks", "blocks of an experiment are repetitions, blocks of a trace are its parts"),
    ("factor", "`attribute` takes several; `import` names the columns of a CSV"),
    ("format", "`export` writes formats of other programs"),
    ("output", "a folder where a command writes run files, else a file"),
    ("pid", "`profile` observes the process itself, the others measure its control group"),
    ("range", "of sizes, of levels or of steps: whatever the command varies"),
    ("response", "one or several; `import` names the columns of a CSV"),
    ("seeds", "of simulations, of an ensemble or of the blocks of a plan"),
    ("set", "parameters of a plan, a job or a simulated machine"),
];

/// What an option's value is called and what it does: the commands that have it, with their help.
type Meanings = BTreeMap<(String, String), Vec<(String, String)>>;
/// Options by name.
type Options = BTreeMap<String, Meanings>;

fn collect(command: &Command, path: &str, options: &mut Options) {
    for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
        let Some(long) = option.get_long() else { continue };
        let meanings = options.entry(long.to_owned()).or_default();
        let help = help(option);
        meanings.entry((value(option), meaning(&help))).or_default().push((path.to_owned(), help));
    }
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        collect(inner, format!("{path} {}", inner.get_name()).trim_start(), options);
    }
}

/// The name of its value; empty for a flag.
fn value(option: &Arg) -> String {
    let names = option.get_value_names().unwrap_or_default();
    match option.get_action().takes_values() {
        true => names.iter().map(|name| format!(" {name}")).collect(),
        false => String::new(),
    }
}

/// What it does in every command: its help up to what is special to one.
fn meaning(help: &str) -> String {
    let ends = [": ", "; "].into_iter().filter_map(|end| help.find(end));
    help[..ends.min().unwrap_or(help.len())].to_owned()
}

fn page(options: &Options) -> String {
    let row = |(long, meanings): (&String, &Meanings)| {
        let row = |((value, meaning), uses): (&(String, String), &Vec<(String, String)>)| {
            let is_same = uses.iter().all(|(_, help)| *help == uses[0].1);
            let help = if is_same { &uses[0].1 } else { meaning }.replace('|', "\\|");
            let commands = uses.iter().map(|(command, _)| match command.as_str() {
                "" => "all".to_owned(),
                command => format!("`{command}`"),
            });
            let commands: Vec<_> = commands.collect();
            format!("| `--{long}{value}` | {help} | {} |\n", commands.join(", "))
        };
        meanings.iter().map(row).collect::<String>()
    };
    let rows: String = options.iter().map(row).collect();
    let is_different =
        |(long, _): &&(&str, &str)| options.get(*long).is_some_and(|it| it.len() > 1);
    let different = DIFFERENT.iter().filter(is_different);
    let different: String =
        different.map(|(long, why)| format!("| `--{long}` | {why} |\n")).collect();
    format!(
        "{HEAD}\n| option | what it does | commands |\n|---|---|---|\n{rows}\n## Options that differ\n\n| \
         option | why |\n|---|---|\n{different}"
    )
}

#[test]
fn each_option_means_the_same_in_every_command_and_the_page_lists_it() {
    let mut options = Options::new();
    collect(&crate::args::command(), "", &mut options);
    for (long, meanings) in &options {
        let may_differ = DIFFERENT.iter().any(|(name, _)| name == long);
        assert!(
            meanings.len() == 1 || may_differ,
            "--{long} differs between commands: {meanings:#?}"
        );
    }
    let page = page(&options);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    assert!(fs::read_to_string(PAGE).is_ok_and(|written| written == page), "run it with UPDATE=1");
}
