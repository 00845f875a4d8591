//! Where a value of a comparison belongs.

use super::arms::Levels;

/// Response, levels, part.
pub(super) type Place = (String, Levels, Option<String>);

/// A place in a few words, such as `elapsed_s of command make`.
pub(super) fn words((response, levels, part): &Place) -> String {
    let levels = levels.iter().map(|(name, level)| format!("{name} {level}"));
    let parts: Vec<String> = levels.chain(part.clone()).collect();
    if parts.is_empty() { response.clone() } else { format!("{response} of {}", parts.join(", ")) }
}
