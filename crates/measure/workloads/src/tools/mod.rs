//! The built-in tools (`thrashlab-agent tool NAME ARGUMENTS…`); equal files give equal output.

mod compare;
mod compiler;
mod sources;
mod texts;
mod trees;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// First argument of the agent that makes it a tool.
pub const ROLE: &str = "tool";

/// A tool: its name, the arguments of its usage, and its function.
type Tool = (&'static str, &'static str, Run);

/// A tool's function by its number of arguments; the writer is standard output.
enum Run {
    One(fn(&str) -> Done),
    Two(fn(&str, &str) -> Done),
    Three(fn(&str, &str, &str) -> Done),
    /// One or more, in order.
    Each(fn(&str, &mut dyn Write) -> Done),
    /// One, followed by one or more.
    Many(fn(&str, &[String], &mut dyn Write) -> Done),
}

/// Fails with the step, the file and the system's error.
type Done = Result<(), String>;

const ALL: &[Tool] = &[
    ("edit", "FILE RESULT", Run::Two(texts::edit)),
    ("compile", "SOURCE OBJECT", Run::Two(sources::compile)),
    ("link", "PROGRAM SOURCE…", Run::Many(sources::link)),
    ("print", "FILE LISTING", Run::Two(texts::print)),
    ("list", "FOLDER…", Run::Each(trees::list)),
    ("rename", "FOLDER", Run::One(trees::rename)),
    ("set-acl", "FOLDER", Run::One(trees::set_acl)),
    ("search", "TEXT PATH…", Run::Many(texts::search)),
    ("sort", "FILE RESULT", Run::Two(texts::sort)),
    ("copy", "FOLDER COPY", Run::Two(trees::copy)),
    ("archive", "ARCHIVE FOLDER…", Run::Many(trees::archive)),
    ("compress", "FILE RESULT", Run::Two(trees::compress)),
    ("compare", "FILE OTHER RESULT", Run::Three(compare::compare)),
    ("count", "FILE…", Run::Each(texts::count)),
    ("checksum", "FILE…", Run::Each(texts::checksum)),
    ("delete", "FOLDER DOOMED", Run::Two(trees::delete)),
];

/// The names of all tools.
pub fn tool_names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, ..)| *name)
}

/// Runs the tool that the arguments name, its name first. Fails as [`run_tool`].
pub fn serve(arguments: &[String], out: &mut dyn Write) -> Result<(), String> {
    let (name, rest) = arguments.split_first().ok_or("a tool needs its name")?;
    run_tool(name, rest, out)
}

/// Runs a tool. Fails for an unknown tool, wrong arguments, or a file that cannot be used.
pub fn run_tool(name: &str, arguments: &[String], out: &mut dyn Write) -> Result<(), String> {
    let (name, usage, run) = ALL
        .iter()
        .find(|(known, ..)| *known == name)
        .ok_or_else(|| format!("no tool is named {name:?}"))?;
    match (run, arguments) {
        (Run::One(run), [one]) => run(one),
        (Run::Two(run), [one, other]) => run(one, other),
        (Run::Three(run), [one, other, third]) => run(one, other, third),
        (Run::Each(run), [_, ..]) => arguments.iter().try_for_each(|each| run(each, out)),
        (Run::Many(run), [first, rest @ ..]) if !rest.is_empty() => run(first, rest, out),
        _ => Err(format!("usage: {name} {usage}")),
    }
}

fn at(step: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> String {
    move |source| format!("{step} {}: {source}", path.as_ref().display())
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(at("read", path))
}

fn read_text(path: &str) -> Result<String, String> {
    Ok(String::from_utf8_lossy(&read(path)?).into_owned())
}

fn write(path: &str, bytes: impl AsRef<[u8]>) -> Done {
    fs::write(path, bytes).map_err(at("write", path))
}
