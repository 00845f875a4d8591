//! Names of scenarios and policies as users type them.

use crate::error::ExperimentError;

/// Fewest letters in common, as a share, at which a name is offered as the intended one.
const LIKE: f64 = 0.6;

/// The item of a name. The error offers the nearest name, else all of them.
pub(super) fn named<'a, T>(
    items: &'a [T],
    name: &str,
    what: &str,
    name_of: impl Fn(&T) -> &str,
) -> Result<&'a T, ExperimentError> {
    if let Some(item) = items.iter().find(|item| name_of(item) == name) {
        return Ok(item);
    }
    let likeness = |item: &&T| strsim::jaro_winkler(name_of(item), name);
    let nearest = items.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let hint = match nearest.filter(|item| likeness(item) >= LIKE) {
        Some(item) => format!("the nearest is {}", name_of(item)),
        None => {
            let names: Vec<&str> = items.iter().map(&name_of).collect();
            format!("choose from {}", names.join(", "))
        }
    };
    Err(ExperimentError::WrongUse(format!(
        "no {what} is named {name:?}; {hint} (`thrashlab freeze --list` shows all), or name a file"
    )))
}
