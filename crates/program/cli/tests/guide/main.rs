//! The commands of the guide do what the guide promises.
//!
//! Each command of a `console` block of the tutorial, the how-to pages and the README is executed
//! in order, in one scratch folder and home per page, and its output is compared with the lines
//! below it. `THRASHLAB_GUIDE=tutorial/first` runs only pages whose path contains that.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod output;
mod page;

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use page::{Block, Page, Step};
use tempfile::TempDir;

/// Time after which a command is ended, in s.
const PATIENCE_S: &str = "300";
/// What a command may call besides thrashlab.
const PROGRAMS: &[&str] = &["thrashlab", "cd", "mkdir", "cat", "cp", "ls", "echo", "printf"];

#[test]
fn the_commands_of_the_guide_print_what_it_shows() {
    let root = root();
    let only = std::env::var("THRASHLAB_GUIDE").unwrap_or_default();
    let (mut steps, mut not_run, mut problems) = (0, Vec::new(), Vec::new());
    for path in pages(&root).into_iter().filter(|path| path.contains(&only)) {
        let page = match Page::parse(&path, &fs::read_to_string(root.join(&path)).unwrap()) {
            Ok(page) => page,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        not_run.extend(page.not_run.iter().cloned());
        let scratch = Scratch::new(&root);
        steps += page.steps().count();
        problems.extend(scratch.run(&page));
    }
    // Standard output itself: the test harness hides what passing tests print.
    let mut out = std::io::stdout();
    let _ = writeln!(out, "guide: {steps} commands executed, {} blocks not run", not_run.len());
    for block in not_run {
        let _ = writeln!(out, "guide: not run: {block}");
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// Pages whose commands are executed.
fn pages(root: &Path) -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "docs/introduction.md".to_owned()];
    for folder in ["docs/tutorial", "docs/how-to"] {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
        names.sort();
        pages.extend(names.into_iter().map(|name| format!("{folder}/{name}")));
    }
    pages
}

/// Why a result is not on one screen, of commands whose results are unless all of it is requested.
fn beyond_a_screen(command: &str, out: &str) -> Option<String> {
    let is_brief = ["ab", "compare", "limit", "run"]
        .iter()
        .any(|verb| command.starts_with(&format!("thrashlab {verb} ")));
    let asks_more = ["--details", "--json", "--format", "--dry-run", "--help"];
    let lines = out.lines().count();
    let widest = out.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let is_beyond = is_brief
        && !asks_more.iter().any(|option| command.contains(option))
        && (lines > 24 || widest > 80);
    is_beyond.then(|| format!("{lines} lines of {widest} columns"))
}

/// The folders of one page: on a disk, removed at its end.
struct Scratch {
    dir: TempDir,
}

impl Scratch {
    fn new(root: &Path) -> Self {
        let dir = tempfile::Builder::new().prefix("thrashlab-guide-").tempdir_in("/var/tmp");
        let scratch = Self { dir: dir.unwrap() };
        for folder in ["home", "bin", "work"] {
            fs::create_dir(scratch.path(folder)).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_thrashlab"), scratch.path("bin/thrashlab")).unwrap();
        // A page calls commands as a reader does at the root of a checkout.
        for folder in ["examples", "crates"] {
            symlink(root.join(folder), scratch.path("work").join(folder)).unwrap();
        }
        fs::write(scratch.path("folder"), scratch.path("work").to_str().unwrap()).unwrap();
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Executes a page up to its first problem, which is returned.
    fn run(&self, page: &Page) -> Option<String> {
        page.blocks.iter().find_map(|block| match block {
            Block::File { path, text } => {
                let path = self.path("work").join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
                None
            }
            Block::Console(steps) => steps.iter().find_map(|step| self.problem(page, step)),
        })
    }

    fn problem(&self, page: &Page, step: &Step) -> Option<String> {
        let place = format!("{}:{}", page.path, step.line);
        if let Some(program) = foreign_program(&step.command) {
            return Some(format!("{place}: {program} is not one of {PROGRAMS:?}"));
        }
        let output = self.execute(&step.command);
        let (out, err) = (self.text(&output.stdout), self.text(&output.stderr));
        if let Some(why) = beyond_a_screen(&step.command, &out) {
            return Some(format!("{place}: $ {}: {why}\n{out}", step.command));
        }
        let mut candidates = vec![format!("{err}{out}"), format!("{out}{err}")];
        // What a command reports besides its result need not be shown, unless it fails.
        if output.status.success() {
            candidates.insert(0, out);
        }
        let mismatches: Option<Vec<usize>> =
            candidates.iter().map(|printed| output::mismatch(&step.expected, printed)).collect();
        // None if one of them is as it should be.
        let line = mismatches?.into_iter().max().unwrap_or_default().max(step.line);
        let expected: Vec<&str> = step.expected.iter().map(|(_, text)| text.as_str()).collect();
        let expected = expected.join("\n");
        let got = &candidates[candidates.len() - 2];
        Some(format!(
            "{}:{line}: $ {} ({})\n--- expected\n{expected}\n--- got\n{got}",
            page.path, step.command, output.status
        ))
    }

    /// Runs a command through `sh`, in the folder in which the one before it ended.
    fn execute(&self, command: &str) -> Output {
        let folder = fs::read_to_string(self.path("folder")).unwrap();
        let script = format!("{command}\nstatus=$?; printf %s \"$PWD\" >\"$FOLDER\"; exit $status");
        let search = format!("{}:/usr/bin:/bin", self.path("bin").display());
        Command::new("timeout")
            .args([PATIENCE_S, "sh", "-c", &script])
            .current_dir(folder)
            .env_clear()
            .env("PATH", search)
            .env("HOME", self.path("home"))
            .env("FOLDER", self.path("folder"))
            .env("LC_ALL", "C.UTF-8")
            .env("COLUMNS", "80")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// What was printed, with the folders of this test as a user has them.
    fn text(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let text = text.replace(self.path("home").to_str().unwrap(), "~");
        text.replace(self.path("work").to_str().unwrap(), "~")
    }
}

/// A program of a command that is not allowed. Text in quotes may contain what separates commands.
fn foreign_program(command: &str) -> Option<&str> {
    let first_line = command.lines().next().unwrap_or_default();
    let mut quote = None;
    let mut before = ' ';
    let separates = |c: char| {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            _ => {}
        }
        // `2>&1` separates nothing.
        let is_separator = matches!(c, '|' | ';') || (c == '&' && before != '>');
        before = c;
        quote.is_none() && is_separator
    };
    let commands = first_line.split(separates);
    let mut programs = commands.filter_map(|command| command.split_whitespace().next());
    programs.find(|program| !PROGRAMS.contains(program))
}

#[test]
fn results_beyond_a_screen_are_found() {
    let (long, wide) = ("line\n".repeat(25), "x".repeat(81));
    assert!(beyond_a_screen("thrashlab compare a b", &long).is_some());
    assert!(beyond_a_screen("thrashlab ab command a b", &wide).is_some());
    assert_eq!(beyond_a_screen("thrashlab compare a b --details", &long), None);
    assert_eq!(beyond_a_screen("thrashlab doctor --rules", &long), None);
    assert_eq!(beyond_a_screen("thrashlab compare a b", "one line\n"), None);
}

#[test]
fn other_programs_are_found() {
    assert_eq!(foreign_program("mkdir -p a && thrashlab show a > b; cat b"), None);
    assert_eq!(foreign_program("cat <<'EOF'\nrm\nEOF"), None);
    assert_eq!(foreign_program("thrashlab run --name 'a; b'"), None);
    assert_eq!(foreign_program("cat a | sh"), Some("sh"));
    assert_eq!(foreign_program("make test"), Some("make"));
}

#[test]
fn a_page_is_executed_in_one_folder_and_compared() {
    let root = root();
    let run = |text: &str| Scratch::new(&root).run(&Page::parse("a.md", text).unwrap());
    let page = "```toml b/plan.toml\nx = 1\n```\n\n```console\n$ cd b\n$ cat plan.toml\nx = 23\n\
                $ ls ../examples\n...\nslowdown.toml\n$ thrashlab -V\nthrashlab 0.1\n```\n";
    assert_eq!(run(page), None);
    let wrong = "```console\n$ echo a\na\n$ echo one; echo two\none\nthree\n```\n";
    let problem = run(wrong).unwrap();
    assert!(problem.starts_with("a.md:6: $ echo one; echo two"), "{problem}");
    assert!(problem.ends_with("--- expected\none\nthree\n--- got\none\ntwo\n"), "{problem}");
    for hidden in ["$ cat none", "$ echo more", "$ thrashlab show none"] {
        let problem = run(&format!("```console\n{hidden}\n```\n"));
        assert!(problem.is_some_and(|problem| problem.starts_with("a.md:2: ")), "{hidden}");
    }
    assert_eq!(run("```console\n$ thrashlab show none\n...\n```\n"), None);
    assert_eq!(run("```console\n$ rm a\n```\n").map(|problem| problem.len() > 9), Some(true));
}
