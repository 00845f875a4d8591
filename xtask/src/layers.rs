//! Dependencies between the crates of the workspace point strictly downwards, and the architecture's
//! page has each crate in its wing.

use serde_json::Value;

/// The order of the crates, lowest first; crates of one rank do not know each other.
///
/// A new crate gets its rank here, and its place in the picture of the architecture.
const RANKS: &[&[&str]] = &[
    &["model", "steady", "sys"],
    &["jobs", "keep", "mechanisms", "render"],
    &["stats", "counters", "workloads", "instrument", "kernels", "roots", "trace"],
    &["agent", "analysis", "doctor", "footprint", "kernel-build", "mmu", "sun4"],
    &["curves", "profile", "simulated"],
    &["results"],
    &["formats"],
    &["playground", "profile-plugin", "report", "sampler", "survey", "trace-plugin", "tracer"],
    &["store", "subject"],
    &["guest", "lease"],
    &["remote", "vm"],
    &["experiment"],
    &["cli", "python", "xtask", "guide"],
];

/// A crate of the workspace and the crates of the workspace that it names as dependencies:
/// normal ones, those of its tests and those of its build script alike.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Crate {
    name: String,
    /// The folder of `crates` in which it stands; `None` for what stands elsewhere.
    wing: Option<String>,
    dependencies: Vec<String>,
}

/// Reads the JSON of `cargo metadata --no-deps`.
pub(crate) fn parse(metadata: &str) -> Result<Vec<Crate>, String> {
    let metadata: Value =
        serde_json::from_str(metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = list(&metadata, "packages")?;
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    packages.iter().map(|package| parse_package(root, package)).collect()
}

fn parse_package(root: &str, package: &Value) -> Result<Crate, String> {
    // Only a dependency inside the workspace has a path.
    let dependencies = list(package, "dependencies")?
        .iter()
        .filter(|dependency| dependency["path"].is_string())
        .map(name)
        .collect::<Result<_, _>>()?;
    let manifest = package["manifest_path"].as_str().unwrap_or_default();
    let below = manifest.strip_prefix(root).and_then(|path| path.strip_prefix("/crates/"));
    let wing = below.and_then(|path| path.split('/').next()).map(str::to_owned);
    Ok(Crate { name: name(package)?, wing, dependencies })
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>, String> {
    value[key].as_array().ok_or_else(|| format!("cargo metadata: there is no list {key:?}"))
}

fn name(value: &Value) -> Result<String, String> {
    let name = value["name"].as_str().ok_or("cargo metadata: there is something without a name")?;
    Ok(name.to_owned())
}

/// Crates without a rank, and dependencies that do not point to a lower one.
pub(crate) fn findings(crates: &[Crate]) -> Vec<String> {
    let mut findings = Vec::new();
    for from in crates {
        let Some(from_rank) = rank(&from.name) else {
            findings.push(format!("layers: {} has no rank in xtask/src/layers.rs", from.name));
            continue;
        };
        for to in &from.dependencies {
            // A crate without a rank is reported for itself, or is not of this workspace.
            match rank(to) {
                Some(to_rank) if to_rank < from_rank => {}
                Some(_) => findings.push(format!("layers: not downwards: {} -> {to}", from.name)),
                None => findings.push(format!("layers: {} -> {to}, which has no rank", from.name)),
            }
        }
    }
    findings
}

/// Crates without a row in the table of the architecture's page, or with one that names another wing.
pub(crate) fn missing_rows(crates: &[Crate], page: &str) -> Vec<String> {
    let rows = crates.iter().filter_map(|own| {
        let row = format!("| {} | `{}` |", own.wing.as_ref()?, own.name);
        let is_there = page.lines().any(|line| line.starts_with(&row));
        (!is_there).then(|| format!("layers: ARCHITECTURE.md has no row that begins with {row:?}"))
    });
    rows.collect()
}

fn rank(name: &str) -> Option<usize> {
    RANKS.iter().position(|rank| rank.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, dependencies: &[&str]) -> Vec<Crate> {
        let dependencies = dependencies.iter().map(|name| (*name).to_owned()).collect();
        vec![Crate { name: name.to_owned(), wing: None, dependencies }]
    }

    #[test]
    fn downwards_is_fine() {
        assert_eq!(findings(&one("agent", &["workloads", "sys", "model"])), [""; 0]);
    }

    #[test]
    fn upwards_sideways_and_to_itself_are_refused() {
        for (from, to) in [("stats", "agent"), ("workloads", "counters"), ("store", "store")] {
            let expected = format!("layers: not downwards: {from} -> {to}");
            assert_eq!(findings(&one(from, &[to])), [expected]);
        }
    }

    #[test]
    fn a_crate_without_a_rank_is_refused() {
        assert_eq!(
            findings(&one("newcomer", &[])),
            ["layers: newcomer has no rank in xtask/src/layers.rs"]
        );
        assert_eq!(
            findings(&one("cli", &["newcomer"])),
            ["layers: cli -> newcomer, which has no rank"]
        );
    }

    #[test]
    fn dependencies_of_tests_count_and_those_from_elsewhere_do_not() {
        let metadata = r#"{"packages": [{"name": "stats", "dependencies": [
            {"name": "rand", "kind": null},
            {"name": "workloads", "kind": "dev", "path": "/anywhere/crates/measure/workloads"}]}]}"#;
        assert_eq!(parse(metadata).unwrap(), one("stats", &["workloads"]));
    }

    #[test]
    fn each_crate_has_a_row_in_its_wing() {
        let metadata = r#"{"workspace_root": "/crates/x", "packages": [
            {"name": "keep", "manifest_path": "/crates/x/crates/base/keep/Cargo.toml", "dependencies": []},
            {"name": "xtask", "manifest_path": "/crates/x/xtask/Cargo.toml", "dependencies": []}]}"#;
        let crates = parse(metadata).unwrap();
        assert_eq!(missing_rows(&crates, "| base | `keep` | L1 | What stays. |\n"), [""; 0]);
        let expected = r#"layers: ARCHITECTURE.md has no row that begins with "| base | `keep` |""#;
        assert_eq!(missing_rows(&crates, "| machine | `keep` | L1 | What stays. |\n"), [expected]);
    }

    #[test]
    fn metadata_of_another_form_is_an_error() {
        assert!(parse("{}").is_err());
        assert!(parse("no JSON").is_err());
    }
}
