//! `count`: lines, words and bytes of files.

use std::io::Write;

use super::{Tool, ToolError, WRONG_ARGUMENTS, read, say};

pub(super) const TOOL: Tool = Tool { name: "count", arguments: "FILE…", run };

fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), ToolError> {
    if arguments.is_empty() {
        return Err(WRONG_ARGUMENTS);
    }
    for path in arguments {
        let bytes = read(path)?;
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        let words = bytes.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
        say(out, &format!("{lines:>8} {words:>8} {:>8} {path}\n", bytes.len()));
    }
    Ok(())
}
