//! `delete`: makes a copy of a folder and deletes it, so that there is something to delete whenever
//! it is asked for.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::copy::copy;
use super::{Tool, ToolError, at, exactly};

pub(super) const TOOL: Tool = Tool { name: "delete", arguments: "FOLDER DOOMED", run };

fn run(arguments: &[String], _: &mut dyn Write) -> Result<(), ToolError> {
    let [from, doomed] = exactly(arguments)?;
    copy(Path::new(from), Path::new(doomed))?;
    fs::remove_dir_all(doomed).map_err(at("delete", doomed))
}
