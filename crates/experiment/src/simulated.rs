//! Simulated machines: their descriptions, also from files, and the cells under which runs are kept.

use std::fs;

use keep::{Cells, key_of};
use model::{MmuSpec, Spec};
use simulated::{Machine, shipped_text, simulated_run, simulator};
use vm::IN_GUEST;

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

/// Changes when the meaning of kept simulations changes although their inputs do not.
const CELL_VERSION: &str = "thrashlab simulation 1";

/// The hash of all inputs of a simulated run, under which it is kept.
pub(crate) fn simulated_key(spec: &Spec) -> Result<String, String> {
    let spec = serde_json::to_vec(spec).map_err(|error| error.to_string())?;
    let parts = [CELL_VERSION, &simulator(), env!("CARGO_PKG_VERSION")];
    let [version, simulator, thrashlab] = parts.map(str::as_bytes);
    Ok(key_of(&[version, simulator, thrashlab, &spec]))
}

/// The run file of a simulated run, named [`IN_GUEST`] and stored in `cells` if there are any, and
/// whether it was there already. Fails as [`simulated_run`], or when it cannot be stored.
pub(crate) fn simulated_cell(
    spec: &Spec,
    cells: Option<&Cells>,
) -> Result<(Vec<u8>, bool), String> {
    let Some(cells) = cells else { return Ok((simulated_run(spec, IN_GUEST)?, false)) };
    let key = simulated_key(spec)?;
    if let Some(bytes) = cells.get(&key) {
        return Ok((bytes, true));
    }
    let bytes = simulated_run(spec, IN_GUEST)?;
    let kept = cells.keep(&key, &bytes);
    kept.map_err(|error| format!("keep it in {}: {error}", cells.folder.display()))?;
    Ok((bytes, false))
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
