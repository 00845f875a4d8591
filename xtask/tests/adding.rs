//! Follows `docs/adding-*.md` in a copy of the tree: compiles what they add, and in a long test
//! (`THRASHLAB_LONG_TESTS`) runs the commands they name.
//!
//! In a page, a block whose first line names a file after its language (```` ```rust PATH ````) is
//! that new file; a `diff` block changes the file; each line `$ cargo …` of a `console` block is
//! run. Other blocks and commands are for readers.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders that the copy does not need.
const NOT_COPIED: &[&str] = &["target", ".git", "node_modules", "corpus"];

/// Compiles and checks everything: the commands of the pages compile a crate after the other, each
/// with its own features of the same libraries, which takes minutes.
const QUICK: [&str; 2] =
    ["cargo clippy --locked --workspace --all-targets -- -D warnings", "cargo xtask check"];

/// A fenced block of a page.
struct Block {
    language: String,
    path: Option<String>,
    lines: Vec<String>,
}

#[test]
fn every_walk_through_works_as_it_is_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = root.join("target/adding");
    let tree = folder.join("tree");
    let _ = fs::remove_dir_all(&folder);
    copy(root, &tree);
    share_compiled(root, &folder.join("target/debug"));
    let pages = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = pages
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("adding-"))
        .collect();
    pages.sort();
    assert!(pages.len() >= 4, "a load, a rule, a chart, a format: {pages:?}");
    let mut commands: Vec<String> = Vec::new();
    for page in &pages {
        for block in blocks(&fs::read_to_string(page).unwrap()) {
            match (&block.path, block.language.as_str()) {
                (Some(path), "diff") => change(&tree.join(path), &block.lines),
                (Some(path), _) => {
                    let path = tree.join(path);
                    assert!(!path.exists(), "{}: {} exists", page.display(), path.display());
                    fs::write(path, block.lines.join("\n") + "\n").unwrap();
                }
                (None, "console") => {
                    let lines = block.lines.iter().filter_map(|line| line.strip_prefix("$ "));
                    let cargo = lines.filter(|line| line.starts_with("cargo "));
                    commands.extend(cargo.map(str::to_owned));
                }
                _ => {}
            }
        }
    }
    commands.sort();
    commands.dedup();
    assert!(commands.len() >= pages.len(), "each page has a command: {commands:?}");
    if std::env::var_os("THRASHLAB_LONG_TESTS").is_none() {
        commands = QUICK.map(str::to_owned).into();
    }
    for command in commands {
        run(&command, &tree, &folder.join("target"));
    }
}

/// Runs `cargo …` in the copy; fails with what it printed.
fn run(command: &str, tree: &Path, target: &Path) {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{command}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let (language, path) = info.split_once(' ').map_or((info, None), |(l, p)| (l, Some(p)));
        blocks.push(Block {
            language: language.to_owned(),
            path: path.map(str::to_owned),
            lines: lines.by_ref().take_while(|line| *line != "```").map(str::to_owned).collect(),
        });
    }
    blocks
}

/// Replaces the lines of a diff: those that begin with a blank or `-` are in the file exactly
/// once, one after the other.
fn change(path: &Path, diff: &[String]) {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let side = |without: char| -> String {
        let lines = diff.iter().filter(|line| !line.starts_with(without));
        lines.map(|line| format!("{}\n", line.get(1..).unwrap_or_default())).collect()
    };
    let (before, after) = (side('+'), side('-'));
    assert_eq!(text.matches(&before).count(), 1, "{}: once:\n{before}", path.display());
    fs::write(path, text.replacen(&before, &after, 1)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (name, kind) = (entry.file_name(), entry.file_type().unwrap());
        if NOT_COPIED.iter().any(|folder| name == *folder) {
            continue;
        }
        let (path, target) = (entry.path(), to.join(name));
        match kind.is_dir() {
            _ if kind.is_symlink() => copy_link(&path, &target),
            true => copy(&path, &target),
            false => copy_file(&path, &target),
        }
    }
}

/// Gives the copy the compiled third-party crates. What is compiled of this tree is left out: it has
/// the same names there, and cargo would take it for the copy's.
fn share_compiled(root: &Path, to: &Path) {
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let crates = root.join("crates");
    let own = names(&crates).into_iter().flat_map(|wing| names(&crates.join(wing)));
    let own: Vec<String> = own.chain(["guide", "xtask"].map(str::to_owned)).collect();
    for folder in [".fingerprint", "build", "deps"] {
        let from = root.join("target/debug").join(folder);
        share(&from, &to.join(folder), &|name: &str| {
            let is_program = folder == "deps" && !name.contains('.');
            let name = name.rsplit_once('-').map_or(name, |(name, _)| name).replace('_', "-");
            is_program
                || own.iter().any(|own| name == *own || name.strip_prefix("lib") == Some(own))
        });
    }
}

/// Links what compilers replace, and copies what is written in place.
fn share(from: &Path, to: &Path, is_left_out: &dyn Fn(&str) -> bool) {
    fs::create_dir_all(to).unwrap();
    let Ok(entries) = fs::read_dir(from) else { return };
    for entry in entries.map(Result::unwrap) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        match kind.is_dir() {
            _ if is_left_out(&entry.file_name().to_string_lossy()) => {}
            _ if kind.is_symlink() => copy_link(&path, &target),
            true => share(&path, &target, &|_| false),
            false if path.extension().is_some_and(|end| end == "rlib" || end == "rmeta") => {
                fs::hard_link(path, target).unwrap();
            }
            false => copy_file(&path, &target),
        }
    }
}

fn copy_link(from: &Path, to: &Path) {
    std::os::unix::fs::symlink(fs::read_link(from).unwrap(), to).unwrap();
}

/// Copies a file with its time, so that cargo does not build again what is the same.
fn copy_file(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
    let modified = fs::metadata(from).unwrap().modified().unwrap();
    fs::File::options().write(true).open(to).unwrap().set_modified(modified).unwrap();
}
