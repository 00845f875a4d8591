//! The user's own commands as a job: what is typed becomes programs with arguments, repeated until
//! their times are known.

use model::{Command, CommandSpec, Hook};

use jobs::{Kind, Param};

use crate::{Work, Workload};

const SECOND_NS: u64 = 1_000_000_000;
/// Longest name of a command, in characters.
const LONGEST_NAME: usize = 40;
/// Characters that only a shell understands, outside quotes.
const OF_SHELL: &str = "|&;<>()$`\\*?[~#";
/// Characters that a shell understands even within double quotes.
const OF_SHELL_QUOTED: &str = "$`\\";

/// What a shell does itself, without a program, as the first word of a command line. Those that are
/// programs as well (`echo`, `test`) are not listed.
const WORDS_OF_SHELL: [&str; 35] = [
    "!", ".", ":", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue",
    "declare", "eval", "exec", "exit", "export", "fg", "for", "hash", "if", "jobs", "local",
    "read", "return", "set", "shift", "source", "trap", "ulimit", "umask", "unset", "until",
    "wait", "while", "{",
];

/// Fewest repetitions of a command, and least time that those of all commands take together, in ns.
/// hyperfine has the same numbers, but its time is of each command, and it has no `MOST`.
const FEWEST: u64 = 10;
const LEAST_NS: u64 = 3 * SECOND_NS;
/// Commands that together take longer than this are repeated this often only.
const SLOW_NS: u64 = 30 * SECOND_NS;
const FEWEST_SLOW: u64 = 5;
const MOST: u64 = 1000;

/// The commands of the user, one line each in `run`, all once per pass in random order.
pub const COMMAND: Workload = Workload {
    name: model::COMMAND,
    about: "your own commands, repeated until their times are known",
    params: &[
        Param::text("run"),
        Param::text("name"),
        Param::text("folder"),
        Param::text("input"),
        Param::text("setup"),
        Param::text("prepare"),
        Param::text("cleanup"),
        Param::text("service"),
        Param::text("ready"),
        Param::text("metric"),
        Param::choice("shell", &["auto", "none", "sh", "bash"]),
        Param::choice("failures", &["stop", "ignore"]),
        Param::number(CommandSpec::RUNS, Kind::Count, (0, 0, 1_000_000)),
        Param::number(CommandSpec::WARMUP, Kind::Count, (0, 0, 100_000)),
        Param::number(CommandSpec::LEAST, Kind::Time, (0, 0, 3600 * SECOND_NS)),
        Param::number(
            CommandSpec::LIMIT,
            Kind::Time,
            (3600 * SECOND_NS, 1_000_000, 86_400 * SECOND_NS),
        ),
        Param::number(
            CommandSpec::START_LIMIT,
            Kind::Time,
            (60 * SECOND_NS, 1_000_000, 86_400 * SECOND_NS),
        ),
    ],
    measures: &["peak_bytes"],
    ..Workload::new(Work::Job)
};

/// The words of the command line at a hook, if there is one; it is executed by `sh`.
pub fn hook(job: &CommandSpec, hook: Hook) -> Option<Vec<String>> {
    Some(job.hook(hook)).filter(|text| !text.is_empty()).map(|text| in_shell("sh", text))
}

/// The commands of a job with their names. Fails when there is none, a line cannot be divided into
/// words, or names and commands are not equally many.
pub fn commands(job: &CommandSpec) -> Result<Vec<Command>, String> {
    let lines = command_lines(job.lines())?;
    let names: Vec<&str> = job.names().lines().collect();
    if lines.is_empty() {
        return Err("command.run: there is no command: name one after `--`".to_owned());
    }
    if !names.is_empty() && names.len() != lines.len() {
        let (names, lines) = (names.len(), lines.len());
        return Err(format!("command.name: {names} names for {lines} commands"));
    }
    let mut commands: Vec<Command> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let name = shortened(names.get(index).copied().unwrap_or(line));
        let same = commands.iter().filter(|other| other.name.starts_with(&name)).count();
        let name = if same == 0 { name } else { format!("{name} ({})", same + 1) };
        let run = words_of(line, job.shell()).map_err(|why| format!("command.run: {why}"))?;
        commands.push(Command { name, run, builtin: Vec::new() });
    }
    Ok(commands)
}

fn shortened(name: &str) -> String {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    match name.char_indices().nth(LONGEST_NAME - 1) {
        Some((end, _)) if name.chars().count() > LONGEST_NAME => format!("{}…", &name[..end]),
        _ => name,
    }
}

/// The command lines of a text: its lines, of which quotes may span several.
fn command_lines(text: &str) -> Result<Vec<String>, String> {
    let (mut all, mut open) = (Vec::new(), String::new());
    for line in text.split('\n') {
        open.push_str(line);
        match shlex::split(&open) {
            Some(words) if words.is_empty() => open.clear(),
            Some(_) => all.push(std::mem::take(&mut open)),
            None => open.push('\n'),
        }
    }
    match open.trim_end() {
        "" => Ok(all),
        open => Err(format!("command.run: {open:?} ends within quotes")),
    }
}

/// The program and arguments of a command line: its words, or a shell that reads it. With `auto`
/// a shell is used only if the line has something that only a shell understands. Fails for an empty
/// line and an open quote.
pub fn words_of(line: &str, shell: &str) -> Result<Vec<String>, String> {
    match shell {
        "none" => {}
        "" | "auto" if !needs_shell(line) => {}
        "" | "auto" => return Ok(in_shell("sh", line)),
        shell => return Ok(in_shell(shell, line)),
    }
    match shlex::split(line) {
        Some(words) if !words.is_empty() => Ok(words),
        Some(_) => Err("there is no command".to_owned()),
        None => Err(format!("{line:?} ends within quotes")),
    }
}

fn in_shell(shell: &str, text: &str) -> Vec<String> {
    [shell, "-c", text].map(str::to_owned).into()
}

fn needs_shell(line: &str) -> bool {
    let mut quote = None;
    let has_special = line.chars().any(|letter| match (quote, letter) {
        (None, '\'' | '"') => {
            quote = Some(letter);
            false
        }
        (Some(open), letter) if open == letter => {
            quote = None;
            false
        }
        (None, letter) => OF_SHELL.contains(letter),
        (Some('"'), letter) => OF_SHELL_QUOTED.contains(letter),
        (Some(_), _) => false,
    });
    // `NAME=value program` sets a variable.
    let first = line.split_whitespace().next().unwrap_or_default();
    has_special
        || WORDS_OF_SHELL.contains(&first)
        || first.split_once('=').is_some_and(|(name, _)| !name.contains('/'))
}

/// The words of a command, as a shell divided them, as one command line that [`words_of`] divides
/// into the same words; a single word with blanks is a command line already. Fails for a NUL.
pub fn command_text(words: &[String]) -> Result<String, String> {
    match words {
        [line] if line.contains(char::is_whitespace) => one_line(line),
        words => joined(words.iter().map(String::as_str)),
    }
}

/// A command line as one line: a script of several lines is an argument of a shell. Fails for a
/// NUL.
pub fn one_line(line: &str) -> Result<String, String> {
    match line.trim_end_matches('\n') {
        line if line.contains('\n') => joined(["sh", "-c", line]),
        line => Ok(line.to_owned()),
    }
}

fn joined<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<String, String> {
    shlex::try_join(words).map_err(|error| error.to_string())
}

/// How often each command is repeated if the first repetitions of all took this long together, in
/// ns. Later ones may be faster, such as those after a cold start; then they take less than 3 s.
///
/// It depends on this run only, so two runs of the same command are repeated as often whichever of
/// them is called A.
pub fn repetitions(job: &CommandSpec, first_ns: u64) -> u64 {
    match (job.runs(), job.least_ns()) {
        (0, 0) if first_ns > SLOW_NS => FEWEST_SLOW,
        (0, 0) => LEAST_NS.div_ceil(first_ns.max(1)).clamp(FEWEST, MOST),
        (0, least_ns) => least_ns.div_ceil(first_ns.max(1)).clamp(1, MOST),
        (runs, _) => runs,
    }
}

/// The longest that the commands may take, in ns: each repetition and what prepares it takes its limit.
pub fn longest_command_ns(job: &CommandSpec) -> u64 {
    let runs = if job.runs() == 0 { MOST } else { job.runs() };
    let lines = commands(job).map_or(1, |all| all.len()) as u64;
    let each_ns = job.limit_ns().saturating_mul(2 * lines);
    let all_ns = each_ns.saturating_mul(runs.saturating_add(job.warmup_runs()).saturating_add(1));
    all_ns.saturating_add(job.start_limit_ns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn job(settings: &[(&str, &str)]) -> CommandSpec {
        let mut job = COMMAND.spec();
        for (name, value) in settings {
            COMMAND.set(&mut job, name, value).unwrap();
        }
        CommandSpec::new(job)
    }

    #[test]
    fn a_line_is_run_directly_unless_only_a_shell_understands_it() {
        let words = |line: &str| words_of(line, "auto").unwrap();
        assert_eq!(words("gzip -9 -k 'a b'"), ["gzip", "-9", "-k", "a b"]);
        assert_eq!(words("awk '{ print $1 }' x"), ["awk", "{ print $1 }", "x"]);
        for line in ["sort x | uniq", "echo $HOME", "A=1 env", "ls *.c", "echo \"$HOME\"", "a\\ b"]
        {
            assert_eq!(words(line), ["sh", "-c", line], "{line}");
        }
        assert_eq!(words("./a=b/c"), ["./a=b/c"]);
        assert_eq!(words_of("echo $HOME", "none").unwrap(), ["echo", "$HOME"]);
        for line in ["ulimit -s", "exit 3", "exec ls"] {
            assert_eq!(words(line), ["sh", "-c", line], "a shell's own word");
        }
        assert_eq!(words_of("true", "bash").unwrap(), ["bash", "-c", "true"]);
        assert!(words_of("echo 'x", "none").unwrap_err().contains("quotes"));
    }

    #[test]
    fn each_line_is_a_command_and_quotes_may_span_lines() {
        let all = commands(&job(&[("run", "./a -x\n\n./b 'c\nd'\n./a -x")])).unwrap();
        let names: Vec<&str> = all.iter().map(|command| command.name.as_str()).collect();
        assert_eq!(names, ["./a -x", "./b 'c d'", "./a -x (2)"]);
        assert_eq!(all[1].run, ["./b", "c\nd"]);
        for (settings, why) in [
            (&[("run", "")][..], "no command"),
            (&[("run", "./a 'b")], "within quotes"),
            (&[("run", "a"), ("name", "x\ny")], "2 names for 1"),
        ] {
            assert!(commands(&job(settings)).unwrap_err().contains(why), "{settings:?}");
        }
        let long = "x".repeat(100);
        let named = commands(&job(&[("run", &long)])).unwrap();
        assert_eq!(named[0].name.chars().count(), LONGEST_NAME);
    }

    #[test]
    fn a_single_text_is_a_command_line_and_a_script_is_one_line() {
        let text = |words: &[&str]| {
            command_text(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(text(&["sort big | uniq"]), "sort big | uniq");
        assert_eq!(text(&["gzip", "a b"]), "gzip 'a b'");
        let script = text(&["for i in 1 2\ndo echo $i\ndone\n"]);
        let all = commands(&job(&[("run", &script)])).unwrap();
        assert_eq!(all[0].run, ["sh", "-c", "for i in 1 2\ndo echo $i\ndone"]);
    }

    #[test]
    fn repetitions_take_three_seconds_and_are_ten_or_more() {
        let auto = job(&[("run", "a")]);
        let counts = [1, 1_000_000, SECOND_NS, 20 * SECOND_NS, 60 * SECOND_NS];
        assert_eq!(counts.map(|ns| repetitions(&auto, ns)), [1000, 1000, 10, 10, 5]);
        // The last one is begun before 3 s are over.
        let counts = [3_000_000, 3_100_000, 290_000_000, 300_000_000];
        assert_eq!(counts.map(|ns| repetitions(&auto, ns)), [1000, 968, 11, 10]);
        assert_eq!(repetitions(&job(&[("run", "a"), ("runs", "3")]), 1), 3);
        let short = job(&[("run", "a"), ("least", "50ms")]);
        let counts = [1, 1_000_000, 30_000_000, 50_000_000, SECOND_NS];
        assert_eq!(counts.map(|ns| repetitions(&short, ns)), [1000, 50, 2, 1, 1]);
    }

    proptest! {
        #[test]
        fn words_become_a_line_that_has_the_same_words(words in prop::collection::vec("[^\\x00]{0,9}", 1..5)) {
            prop_assume!(!words[0].trim().is_empty() && words.len() > 1);
            let text = command_text(&words).unwrap();
            prop_assert_eq!(&shlex::split(&text), &Some(words.clone()));
            let all = commands(&job(&[("run", &text)])).unwrap();
            let [command] = &all[..] else { panic!("{all:?}") };
            prop_assert!(command.run == words || command.run[..2] == ["sh", "-c"]);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(?s)[^\\x00]{0,60}") {
            let _ = commands(&job(&[("run", &text)]));
        }
    }
}
