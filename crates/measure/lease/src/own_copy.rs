//! The copy of the agent on a measured host: its file is named by its hash.

use std::fs;

use crate::is_name;

/// The hash that this program's file is named by; `None` if it is not a copy that a controller made.
pub(crate) fn named_hash() -> Option<String> {
    let path = std::env::current_exe().ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    is_hash(&name).then_some(name)
}

/// Compares this program with its hash, by default that in the name of its file.
pub(crate) fn verify(expected: Option<&str>) -> Result<(), String> {
    let expected = expected.map(str::to_owned).or_else(named_hash);
    let Some(expected) = expected.filter(|hash| is_hash(hash)) else { return Ok(()) };
    let path = std::env::current_exe().map_err(|error| error.to_string())?;
    let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    match blake3::hash(&bytes).to_hex().as_str() == expected {
        true => Ok(()),
        false => Err(format!("{} is damaged", path.display())),
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == blake3::OUT_LEN * 2 && is_name(text)
}
