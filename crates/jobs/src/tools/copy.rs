//! `copy`: a folder with all it holds, over what is there.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::{Tool, ToolError, at, exactly, walk};

pub(super) const TOOL: Tool = Tool { name: "copy", arguments: "FOLDER COPY", run };

fn run(arguments: &[String], _: &mut dyn Write) -> Result<(), ToolError> {
    let [from, to] = exactly(arguments)?;
    copy(Path::new(from), Path::new(to))
}

/// Copies a folder.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), ToolError> {
    for path in walk::all(from)? {
        let Ok(below) = path.strip_prefix(from) else { continue };
        // Joining nothing would add a slash, and a file has none behind it.
        let target = if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) };
        if path.is_dir() {
            fs::create_dir_all(&target).map_err(at("make", &target))?;
        } else {
            fs::copy(&path, &target).map_err(at("copy to", &target))?;
        }
    }
    Ok(())
}
