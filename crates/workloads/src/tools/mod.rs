//! Our own tools, for guests and machines that lack the ordinary ones. Each does its work through the file system, as a program of its own
//! (`thrashlab __tool NAME ARGUMENTS…`), and equal files give equal output.

mod compare;
mod compiler;
mod sources;
mod texts;
mod trees;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// First argument of this program when it is to be one of the tools.
pub const COMMAND: &str = "__tool";

/// A tool's name, its arguments for the error when they are wrong, and its work; what would go to
/// the terminal goes to the writer.
type Tool = (&'static str, &'static str, fn(&[String], &mut dyn Write) -> Done);

/// Fails with what was done to which file and what the system answered, or with [`WRONG_ARGUMENTS`].
type Done = Result<(), String>;

const ALL: &[Tool] = &[
    ("edit", "FILE RESULT", texts::edit),
    ("compile", "SOURCE OBJECT", sources::compile),
    ("link", "PROGRAM SOURCE…", sources::link),
    ("print", "FILE LISTING", texts::print),
    ("list", "FOLDER…", trees::list),
    ("rename", "FOLDER", trees::rename),
    ("set-acl", "FOLDER", trees::set_acl),
    ("search", "TEXT PATH…", texts::search),
    ("sort", "FILE RESULT", texts::sort),
    ("copy", "FOLDER COPY", trees::copy_folder),
    ("archive", "ARCHIVE FOLDER…", trees::archive),
    ("compress", "FILE RESULT", trees::compress),
    ("compare", "FILE OTHER RESULT", compare::compare),
    ("count", "FILE…", texts::count),
    ("checksum", "FILE…", texts::checksum),
    ("delete", "FOLDER DOOMED", trees::delete),
];

/// The names of all tools.
pub fn tool_names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, ..)| *name)
}

/// Runs a tool. Fails if there is none such, its arguments are wrong, or a file is refused.
pub fn run_tool(name: &str, arguments: &[String], out: &mut dyn Write) -> Result<(), String> {
    let (name, usage, run) = ALL
        .iter()
        .find(|(known, ..)| *known == name)
        .ok_or_else(|| format!("no tool is named {name:?}"))?;
    run(arguments, out).map_err(|error| match error.as_str() {
        WRONG_ARGUMENTS => format!("usage: {name} {usage}"),
        _ => error,
    })
}

/// The error of arguments that are not those of the tool, which its caller puts into words.
const WRONG_ARGUMENTS: &str = "";

fn exactly<const N: usize>(arguments: &[String]) -> Result<&[String; N], String> {
    arguments.try_into().map_err(|_| WRONG_ARGUMENTS.to_owned())
}

/// A closure for `map_err` that names step and file.
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

/// Writes to the terminal; one that does not listen is no failure.
fn say(out: &mut dyn Write, text: &str) {
    let _ = out.write_all(text.as_bytes());
}
