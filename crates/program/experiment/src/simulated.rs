//! Simulated machines: their descriptions, also from files.

use std::fs;

use model::MmuSpec;
use simulated::{Machine, shipped_text};

/// Suffix of description files.
const FILE: &str = ".toml";

/// The description of a shipped machine, or from a file (`*.toml`, or any name with a `/`). Fails
/// for an unknown name, listing the known ones, or an unreadable file.
pub fn machine_text(name: &str) -> Result<String, String> {
    if name.ends_with(FILE) || name.contains('/') {
        return fs::read_to_string(name).map_err(|error| format!("machine {name}: {error}"));
    }
    shipped_text(name).map(str::to_owned).ok_or_else(|| {
        let names: Vec<&str> = Machine::shipped().map(|(name, _)| name).collect();
        format!(
            "no machine is named {name:?}; choose from {}; a description of your own is a file \
             ({FILE})",
            names.join(", ")
        )
    })
}

/// A simulated machine from settings; its description may be a file ([`simulated::mmu_spec`]).
pub(crate) fn mmu_spec(settings: &[(String, String)]) -> Result<MmuSpec, String> {
    simulated::mmu_spec(settings, machine_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_machine_is_refused_with_the_known_ones() {
        let machine = |name: &str| mmu_spec(&[("machine".to_owned(), name.to_owned())]);
        assert!(machine("vax").unwrap_err().contains("sparcstation1"));
        assert!(machine("/no/such.toml").unwrap_err().contains("/no/such.toml"));
    }
}
