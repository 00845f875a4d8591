//! `rename`: gives every file of a folder another name, and its own again.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Tool, ToolError, at, exactly, walk};

pub(super) const TOOL: Tool = Tool { name: "rename", arguments: "FOLDER", run };

fn run(arguments: &[String], _: &mut dyn Write) -> Result<(), ToolError> {
    let [folder] = exactly(arguments)?;
    for path in walk::entries(Path::new(folder))? {
        let mut other = path.clone().into_os_string();
        other.push("~");
        let other = PathBuf::from(other);
        fs::rename(&path, &other).map_err(at("rename", &path))?;
        fs::rename(&other, &path).map_err(at("rename", &other))?;
    }
    Ok(())
}
