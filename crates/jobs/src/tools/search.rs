//! `search`: counts the lines of files that hold a text.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::{Tool, ToolError, WRONG_ARGUMENTS, at, say, walk};

pub(super) const TOOL: Tool = Tool { name: "search", arguments: "TEXT PATH…", run };

fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), ToolError> {
    let [text, paths @ ..] = arguments else { return Err(WRONG_ARGUMENTS) };
    for path in paths {
        for file in walk::files(Path::new(path))? {
            let bytes = fs::read(&file).map_err(at("read", &file))?;
            let count = String::from_utf8_lossy(&bytes)
                .lines()
                .filter(|line| line.contains(text.as_str()))
                .count();
            say(out, &format!("{}:{count}\n", file.display()));
        }
    }
    Ok(())
}
