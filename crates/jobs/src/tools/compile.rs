//! `compile`: a source of the toy language into an object file.

use std::io::Write;

use super::compiler::{Object, compile};
use super::{Tool, ToolError, exactly, read_text, write};

pub(super) const TOOL: Tool = Tool { name: "compile", arguments: "SOURCE OBJECT", run };

fn run(arguments: &[String], _: &mut dyn Write) -> Result<(), ToolError> {
    let [source, object] = exactly(arguments)?;
    write(object, object_of(source)?.encode())
}

/// The compiled source of a path.
pub(super) fn object_of(path: &str) -> Result<Object, ToolError> {
    compile(&read_text(path)?).map_err(|reason| ToolError::Source { path: path.to_owned(), reason })
}
