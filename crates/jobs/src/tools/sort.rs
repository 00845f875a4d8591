//! `sort`: the lines of a file in the order of their bytes.

use std::io::Write;

use super::{Tool, ToolError, exactly, read, write};

pub(super) const TOOL: Tool = Tool { name: "sort", arguments: "FILE RESULT", run };

fn run(arguments: &[String], _: &mut dyn Write) -> Result<(), ToolError> {
    let [from, to] = exactly(arguments)?;
    let bytes = read(from)?;
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    write(to, lines.concat())
}
