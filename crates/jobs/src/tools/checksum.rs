//! `checksum`: BLAKE3 of files.

use std::io::Write;

use super::{Tool, ToolError, WRONG_ARGUMENTS, read, say};

pub(super) const TOOL: Tool = Tool { name: "checksum", arguments: "FILE…", run };

fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), ToolError> {
    if arguments.is_empty() {
        return Err(WRONG_ARGUMENTS);
    }
    for path in arguments {
        let hash = blake3::hash(&read(path)?).to_hex();
        say(out, &format!("{hash}  {path}\n"));
    }
    Ok(())
}
