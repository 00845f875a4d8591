//! `list`: names, modes, owners and sizes of all files below some folders.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Tool, ToolError, WRONG_ARGUMENTS, at, say, walk};

pub(super) const TOOL: Tool = Tool { name: "list", arguments: "FOLDER…", run };

fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), ToolError> {
    if arguments.is_empty() {
        return Err(WRONG_ARGUMENTS);
    }
    for argument in arguments {
        for path in walk::all(Path::new(argument))? {
            let facts = fs::symlink_metadata(&path).map_err(at("look at", &path))?;
            let line = format!(
                "{:o} {:>3} {:>6} {:>6} {:>10} {}\n",
                facts.mode(),
                facts.nlink(),
                facts.uid(),
                facts.gid(),
                facts.len(),
                path.display()
            );
            say(out, &line);
        }
    }
    Ok(())
}
