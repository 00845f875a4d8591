//! `archive`: folders as one tar file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::{Tool, ToolError, WRONG_ARGUMENTS, at, walk};

pub(super) const TOOL: Tool = Tool { name: "archive", arguments: "ARCHIVE FOLDER…", run };

fn run(arguments: &[String], _: &mut dyn Write) -> Result<(), ToolError> {
    let [archive, folders @ ..] = arguments else { return Err(WRONG_ARGUMENTS) };
    let file = File::create(archive).map_err(at("make", archive))?;
    let mut builder = tar::Builder::new(BufWriter::new(file));
    // Equal files give an equal archive, whoever made them when.
    builder.mode(tar::HeaderMode::Deterministic);
    for folder in folders {
        let folder = Path::new(folder);
        let above = folder.parent().unwrap_or(folder);
        for path in walk::files(folder)? {
            let name = path.strip_prefix(above).unwrap_or(&path);
            builder.append_path_with_name(&path, name).map_err(at("archive", &path))?;
        }
    }
    let mut writer = builder.into_inner().map_err(at("write", archive))?;
    writer.flush().map_err(at("write", archive))
}
