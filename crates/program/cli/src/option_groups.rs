//! Options in groups with the same headings in every command, and the short help: the options that
//! people use, and where the others are.

use std::ffi::OsString;

use clap::{Arg, Command};

/// The groups with their options, in the order of the help.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Your command",
        &[
            "command",
            "name",
            "runs",
            "warmup-runs",
            "command-limit",
            "setup",
            "prepare",
            "cleanup",
            "shell",
            "input",
            "ignore-failure",
            "service",
            "ready",
            "start-limit",
            "metric",
            "build",
            "client",
        ],
    ),
    (
        "Where",
        &[
            "subject",
            "unit",
            "pid",
            "cgroup",
            "swap",
            "work-dir",
            "ssh",
            "wait",
            "reconnect",
            "keep",
            "jobs",
            "cells",
            "no-cache",
            "kernel",
            "engine",
            "qemu",
            "fleet",
            "store",
            "wall-limit",
        ],
    ),
    (
        "How long",
        &[
            "quick",
            "classic",
            "interval",
            "points",
            "timeout",
            "warmup",
            "seed",
            "seeds",
            "blocks",
            "max-blocks",
            "budget",
            "passes",
            "coarse",
            "resolution",
            "margin",
            "alpha",
            "confidence",
            "floor",
            "most",
            "price",
            "range",
            "for",
            "rate",
        ],
    ),
    (
        "Results",
        &[
            "output",
            "format",
            "json",
            "details",
            "color",
            "verbose",
            "worst",
            "quiet",
            "events",
            "no-report",
            "no-profile",
            "fail-on",
            "dry-run",
            "check",
            "resume",
            "no-resume",
            "top",
            "openmetrics",
            "exit-code",
        ],
    ),
];
/// The group of all other options.
const WHAT_RUNS: &str = "What runs";

/// Options in the short help of commands that have many more, with what they do in a few words.
const SHORT: [(&str, &[(&str, &str)]); 17] = [
    (
        "run",
        &[
            ("load", "Loads, separated by commas: cpuload,2ctx-mem"),
            ("command", "A command; several are timed in turn"),
            ("name", "Name of each command in the results"),
            ("runs", "Repetitions of the command"),
            ("prepare", "Run this before each repetition, untimed"),
            ("subject", "Where: host, sandbox:mem=1G,cpus=2, vm, ssh://HOST"),
            ("quick", "All loads in less than a minute; a command three times"),
            ("output", "Folder for the run files"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "ab",
        &[
            ("factor", "What differs: command, git, kernel, load, any parameter of plans"),
            ("load", "The load in the background: cpuload, 2ctx-mem"),
            ("build", "A command that builds each level"),
            ("name", "Name of each command, twice: -n old -n new"),
            ("prepare", "Run this before each repetition, untimed"),
            ("subject", "Where: host, sandbox:mem=1G,cpus=2, vm, ssh://HOST"),
            ("margin", "Smallest difference that matters: 3%"),
            ("max-blocks", "Most runs of each"),
            ("fail-on", "Exit with 1 on it: regression, regression:5%"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "limit",
        &[
            ("over", "The limit: sandbox.memory, sandbox.cpus"),
            ("price", "Extra time that is acceptable: 10%"),
            ("service", "A server whose need is searched for"),
            ("ready", "When the server is ready: 8080, output:TEXT"),
            ("command", "Its client, a command (--client)"),
            ("unit", "A systemd unit that is running already"),
            ("floor", "Lowest limit of what is running already"),
            ("budget", "Maximum number of measurements"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "compare",
        &[
            ("inputs", "Folders of runs, or results of other programs; the first is the reference"),
            ("factor", "Compare the levels of this factor"),
            ("response", "What to compare, separated by commas"),
            ("margin", "Smallest difference that matters: 10%"),
            ("fail-on", "Exit with 1 on it: regression, regression:15%"),
            ("by-function", "Name the functions that changed, of guests"),
            ("output", "Write the result to this file: change.md"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "sweep",
        &[
            ("over", "The parameter: sandbox.memory, touch.footprint"),
            ("range", "Its levels, from and to: 64M..1G"),
            ("load", "The load in the background"),
            ("subject", "Where: host, sandbox:mem=1G,cpus=2, vm"),
            ("from", "Existing measurements instead of new ones"),
            ("budget", "Maximum number of measurements"),
            ("output", "Folder for the run files"),
            ("dry-run", "Print the plan and run nothing"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "bisect",
        &[
            ("git", "Bisect the commits of a repository"),
            ("set", "A parameter, such as load=largewrite"),
            ("seeds", "How many seeds of each kernel"),
            ("values", "Bisect these values, separated by commas"),
            ("range", "Bisect the steps between two"),
            ("run", "Judge each step by the output of this command"),
            ("response", "What decides"),
            ("output", "Folder for the run files"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "doctor",
        &[
            ("for", "Length of the observation: 10s"),
            ("watch", "Continue until Ctrl-C"),
            ("record", "Record into this folder"),
            ("replay", "Diagnose a recording"),
            ("from", "Diagnose from this time of a recording on"),
            ("since-boot", "Diagnose the time since the machine was started"),
            ("top", "Most findings to print"),
            ("format", "Format of the result"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "profile",
        &[
            ("pid", "A running process in place of a command"),
            ("for", "How long to watch it: 30s"),
            ("rate", "Samples a second of CPU time"),
            ("waits", "Files of call stacks have the waits"),
            ("slow", "Of a run: what executes in slow responses"),
            ("response", "Of a run: what executes in this one"),
            ("collapsed", "Write call stacks for flame graphs"),
            ("pprof", "Write call stacks for pprof"),
            ("output", "Write the result to this file: profile.html"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "experiment",
        &[
            ("check", "Try every level and run nothing"),
            ("dry-run", "Print the plan and run nothing"),
            ("blocks", "Passes through all cells"),
            ("aa", "Run the first cell against itself"),
            ("fleet", "Run on the machines of this file"),
            ("jobs", "Guests at a time"),
            ("output", "Folder for the run files"),
            ("quiet", "No progress on standard error"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "history",
        &[
            ("suite", "What is measured: a file (TOML), default or quick"),
            ("quick", "The suite quick: five measures on the smallest machine"),
            ("measure", "Only these measures of the suite"),
            ("seeds", "Most seeds of a cell"),
            ("margin", "Smallest difference that matters: 5%"),
            ("jobs", "Guests at a time"),
            ("output", "Folder for the run files"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "history update",
        &[
            ("seeds", "Most seeds of a cell"),
            ("jobs", "Guests at a time"),
            ("quiet", "No progress on standard error"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "freeze",
        &[
            ("policy", "Settings under test: no-swap,zram, or a file (TOML)"),
            ("suite", "All scenarios under all policies"),
            ("kernel", "Kernels, separated by commas"),
            ("seeds", "Seeds of each combination"),
            ("list", "Print the scenarios and policies"),
            ("jobs", "Guests at a time"),
            ("output", "Write the result to this file: freeze.html"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "mmu run",
        &[
            ("machine", "The machine: sparcstation1, zen4, or a file"),
            ("hat", "The system of a Sun-4: old, new, netbsd, linux"),
            ("set", "A setting of machine or program: victim=lru-visit"),
            ("range", "Sizes of the program: 2M..32M"),
            ("compare", "A table to compare it with"),
            ("seeds", "Seeds: 10 (1 to 10), 3..7 or 1,2,7"),
            ("output", "Write the result to this file"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "mmu whatif",
        &[
            ("machine", "The machine: sparcstation1, zen4, or a file"),
            ("hat", "The system of a Sun-4: old, new, netbsd, linux"),
            ("set", "A setting of machine or program: pmegs=256"),
            ("seeds", "Seeds: 10 (1 to 10), 3..7 or 1,2,7"),
            ("output", "Write the result to this file"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "mmu curve",
        &[
            ("page", "Page sizes: 4K,64K,2M"),
            ("line", "Also draw the curve of 64-byte lines"),
            ("sets", "Numbers of sets, for curves by ways"),
            ("sample", "Fraction of the pages to sample: 0.01"),
            ("working-set", "The working set over time"),
            ("output", "Write the result to this file"),
            ("json", "Print JSON"),
        ],
    ),
    (
        "trace record",
        &[
            ("fetch", "Record instruction fetches too"),
            ("pages", "Record only which pages are referenced"),
            ("skip", "References to skip at the beginning"),
            ("limit", "Most references to record"),
            ("guest", "Record the whole guest of this run file"),
            ("input", "Standard input of the command"),
            ("output", "Write the trace to this file"),
        ],
    ),
    (
        "vm verify",
        &[
            ("kernel", "The kernel, in place of kernel= in SETTINGS"),
            ("load", "The load"),
            ("probe", "The interaction that is timed"),
            ("boots", "Boots to compare"),
            ("runs-per-boot", "Runs from each boot"),
            ("emulators", "Compare the ends in every QEMU at hand"),
            ("quick", "Use short timing"),
            ("json", "Print JSON"),
        ],
    ),
];
/// A longer text is cut at its first comma.
const LONG_HELP: usize = 45;
/// Lines of the examples in the short help.
const EXAMPLE_LINES: usize = 3;

/// A command and those below it with their options in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let place = |option: Arg| match option.get_long() {
        None => option,
        Some(long) => {
            let group = GROUPS.iter().find(|(_, names)| names.contains(&long));
            let group = group.map_or(WHAT_RUNS, |(group, _)| *group);
            option.help_heading(group)
        }
    };
    command.mut_args(place).mut_subcommands(grouped)
}

/// Whether the short help is requested.
pub(crate) fn asks_short(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|it| *it != "--").any(|it| it == "-h")
}

/// The command line whose help has only the options that people use.
pub(crate) fn short(command: Command) -> Command {
    let details = |option: Arg| option.help("Print all that is known of a result");
    let command = command.mut_arg("color", |option| option.hide(true)).mut_arg("details", details);
    command.mut_subcommands(|verb| short_verb(verb, ""))
}

/// The short help of a command and of those below it; `above` is the command that it belongs to.
fn short_verb(verb: Command, above: &str) -> Command {
    let path = format!("{above} {}", verb.get_name()).trim_start().to_owned();
    let of_verb = SHORT.iter().find(|(name, _)| *name == path);
    let shown = of_verb.map(|(_, shown)| *shown);
    let options = verb.get_arguments().filter(|it| it.get_long().is_some() && !it.is_hide_set());
    let is_hidden = |it: &&Arg| shown.is_some_and(|shown| known(shown, it).is_none());
    let more = match options.filter(is_hidden).count() {
        0 => "Details, and examples".to_owned(),
        hidden => format!("{hidden} more options in these groups, and examples"),
    };
    let examples = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
    let first: Vec<&str> = examples.lines().take(EXAMPLE_LINES).collect();
    let text = format!("{}\n{more}: thrashlab {path} --help", first.join("\n"));
    let verb = verb.mut_args(|option| brief(option, shown)).after_help(text);
    verb.mut_subcommands(|below| short_verb(below, &path))
}

/// What an option does in a few words, if the short help has it.
fn known(shown: &[(&str, &'static str)], option: &Arg) -> Option<&'static str> {
    let is_it = |name: &str| option.get_long() == Some(name) || option.get_id() == name;
    shown.iter().find(|(name, _)| is_it(name)).map(|(_, help)| *help)
}

/// An option of the short help: in a few words, or hidden if others are listed.
fn brief(option: Arg, shown: Option<&[(&str, &'static str)]>) -> Arg {
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    let ends = [": ", "; ", " (", " ["].into_iter().filter_map(|end| help.find(end));
    let first = &help[..ends.min().unwrap_or(help.len())];
    let cut = first.find(", ").filter(|_| first.len() > LONG_HELP);
    let first = first[..cut.unwrap_or(first.len())].to_owned();
    let is_flag = option.get_long().is_some() && !option.get_action().takes_values();
    let option = match is_flag {
        true => option,
        false => option.hide_possible_values(true).hide_default_value(true),
    };
    match shown.map(|shown| known(shown, &option)) {
        Some(Some(help)) => option.help(help),
        Some(None) if option.get_long().is_some() => option.hide(true),
        _ => option.help(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a short help.
    const MOST_LINES: usize = 40;

    #[test]
    fn the_short_help_of_each_command_is_short() {
        fn assert_short(verb: &mut Command) {
            let help = verb.render_help().to_string();
            let widest = help.lines().map(|line| line.chars().count()).max();
            assert!(help.lines().count() <= MOST_LINES && widest <= Some(80), "{help}");
            verb.get_subcommands_mut().filter(|below| !below.is_hide_set()).for_each(assert_short);
        }
        let mut command = short(crate::args::command());
        command.build();
        command.get_subcommands_mut().filter(|verb| !verb.is_hide_set()).for_each(assert_short);
    }

    #[test]
    fn options_of_the_short_help_exist_and_each_is_in_one_group() {
        let command = crate::args::command();
        for (path, shown) in SHORT {
            let find = |above: &Command, name: &str| above.find_subcommand(name).unwrap().clone();
            let verb = path.split(' ').fold(command.clone(), |above, name| find(&above, name));
            for (long, _) in shown {
                let is_named = |it: &Arg| it.get_long() == Some(long) || it.get_id() == long;
                assert!(verb.get_arguments().any(is_named), "{path} has no --{long}");
            }
        }
        let mut names: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn only_the_letter_asks_for_the_short_help() {
        let asks = |line: &str| {
            asks_short(&line.split(' ').map(OsString::from).collect::<Vec<OsString>>())
        };
        assert!(asks("thrashlab run -h") && !asks("thrashlab run --help"));
        assert!(!asks("thrashlab run -- ls -h"));
    }
}
