//! Where the measurements of a sweep were made.

use model::Header;

use analysis::Setup;

/// The subject in words, as far as it is the same in all runs: what is swept may be a part of it.
/// Empty without runs.
#[must_use]
pub fn place_of(headers: &[Header]) -> String {
    let places: Vec<String> =
        headers.iter().map(|header| Setup::new(header, Vec::new()).place()).collect();
    let Some(first) = places.first() else { return String::new() };
    let everywhere =
        |part: &&str| places.iter().all(|place| place.split(", ").any(|other| other == *part));
    let common: Vec<&str> = first.split(", ").filter(everywhere).collect();
    match places.iter().all(|place| place == first) {
        true => first.clone(),
        false => {
            let kinds = headers.iter().map(|header| header.spec.subject.kind());
            let mut parts: Vec<&str> = kinds.collect();
            parts.sort_unstable();
            parts.dedup();
            parts.into_iter().chain(common).collect::<Vec<_>>().join(", ")
        }
    }
}
