//! `compress`: a file as gzip makes it.

use std::io::Write;

use flate2::{Compression, GzBuilder};

use super::{Tool, ToolError, at, exactly, read, write};

pub(super) const TOOL: Tool = Tool { name: "compress", arguments: "FILE RESULT", run };

fn run(arguments: &[String], _: &mut dyn Write) -> Result<(), ToolError> {
    let [from, to] = exactly(arguments)?;
    let bytes = read(from)?;
    // Without a name and a time in its header, so that equal files give equal results.
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::default());
    encoder.write_all(&bytes).map_err(at("compress", from))?;
    write(to, encoder.finish().map_err(at("compress", from))?)
}
