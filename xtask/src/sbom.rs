//! The bill of materials of the released program, as `CycloneDX` 1.6 JSON: each crate that is linked
//! into it, with its licence and the checksum of its package; and the rule on licences.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// The crate of the released program.
const PROGRAM: &str = "cli";

/// The licence of the scripts that draw charts, whose list is `web/lock.json`.
const SCRIPTS: &str = "BSD-3-Clause";

/// A crate that is linked into the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    name: String,
    version: String,
    licence: String,
    /// Whether the crate belongs to the workspace.
    is_own: bool,
}

/// The crates that are linked into the program, from what `cargo metadata` prints.
pub(crate) fn parts(metadata: &Value) -> Result<BTreeSet<Part>, String> {
    let list = |value: &Value, what: &str| {
        value.as_array().cloned().ok_or_else(|| format!("cargo metadata has no {what}"))
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> = list(&metadata["packages"], "packages")?
        .into_iter()
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"], "resolve.nodes")?
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let program = packages.iter().find(|(_, package)| package["name"] == PROGRAM);
    let (program, _) = program.ok_or_else(|| format!("there is no crate {PROGRAM}"))?;
    let (mut waiting, mut found) = (vec![program.clone()], BTreeSet::new());
    while let Some(id) = waiting.pop() {
        if !found.insert(id.clone()) {
            continue;
        }
        for dependency in list(&nodes[&id]["deps"], "resolve.nodes.deps")? {
            let kinds = list(&dependency["dep_kinds"], "dep_kinds")?;
            // The others are build scripts' and tests'.
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                waiting.push(text(&dependency["pkg"]));
            }
        }
    }
    let part = |id: &String| Part {
        name: text(&packages[id]["name"]),
        version: text(&packages[id]["version"]),
        licence: text(&packages[id]["license"]).replace('/', " OR "),
        is_own: packages[id]["source"].is_null(),
    };
    Ok(found.iter().map(part).collect())
}

/// The licences that are not allowed by `deny.toml`, whose exceptions are for what does not ship.
pub(crate) fn findings(parts: &BTreeSet<Part>, deny: &str) -> Result<Vec<String>, String> {
    let deny: toml::Table = toml::from_str(deny).map_err(|error| format!("deny.toml: {error}"))?;
    let list = deny.get("licenses").and_then(|it| it.get("allow")?.as_array());
    let list = list.ok_or("deny.toml has no list licenses.allow")?;
    let allowed: Vec<&str> = list.iter().filter_map(toml::Value::as_str).collect();
    let refused = parts.iter().filter(|part| !is_allowed(&part.licence, &allowed));
    let finding = |part: &Part| {
        let Part { name, version, licence, .. } = part;
        format!("{name} {version}: licence {licence:?} is not allowed by deny.toml")
    };
    Ok(refused.map(finding).collect())
}

/// Whether a licence is allowed; of `(A OR B) AND C`, C and one of the others must be.
fn is_allowed(licence: &str, allowed: &[&str]) -> bool {
    licence.split(" AND ").all(|all| {
        let all = all.trim_matches(['(', ')']);
        all.split(" OR ").any(|one| allowed.contains(&one.trim_matches(['(', ')'])))
    })
}

/// The document. `lock` is `Cargo.lock`, which has the checksums, and `scripts` is `web/lock.json`.
pub(crate) fn document(
    parts: &BTreeSet<Part>,
    lock: &str,
    scripts: &str,
    target: &str,
) -> Result<Value, String> {
    let scripts: Value =
        serde_json::from_str(scripts).map_err(|error| format!("web/lock.json: {error}"))?;
    let lock: toml::Table = toml::from_str(lock).map_err(|error| format!("Cargo.lock: {error}"))?;
    let locked = lock.get("package").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let checksum = |part: &Part| {
        let entry = locked.iter().find(|entry| {
            entry.get("name").and_then(toml::Value::as_str) == Some(&part.name)
                && entry.get("version").and_then(toml::Value::as_str) == Some(&part.version)
        })?;
        Some(entry.get("checksum")?.as_str()?.to_owned())
    };
    let crates = parts.iter().filter(|part| !part.is_own).map(|part| {
        let Part { name, version, licence, .. } = part;
        let mut component = json!({
            "type": "library",
            "bom-ref": format!("pkg:cargo/{name}@{version}"),
            "purl": format!("pkg:cargo/{name}@{version}"),
            "name": name,
            "version": version,
            "licenses": [{ "expression": licence }],
        });
        if let Some(sum) = checksum(part) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    });
    let scripts = scripts["packages"].as_array().cloned().unwrap_or_default();
    let others = scripts.iter().map(|script| {
        let text = |name: &str| script[name].as_str().unwrap_or_default();
        let purl = format!("pkg:npm/{}@{}", text("name"), text("version"));
        json!({
            "type": "library",
            "bom-ref": purl,
            "purl": purl,
            "name": text("name"),
            "version": text("version"),
            "description": "draws charts in reports",
            "licenses": [{ "expression": SCRIPTS }],
        })
    });
    let own = parts.iter().find(|part| part.name == PROGRAM);
    let version = own.map(|part| part.version.clone()).unwrap_or_default();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": "thrashlab",
            "name": "thrashlab",
            "version": version,
            "description": format!("static program for {target}"),
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
        } },
        "components": crates.chain(others).collect::<Vec<Value>>(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cli` links `a`, which links `b`; `t` is a test's.
    fn metadata(licence_of_b: &str) -> Value {
        let package = |id: &str, name: &str, source: Option<&str>, licence: &str| json!({ "id": id, "name": name, "version": "1.0.0", "source": source, "license": licence });
        let dependency =
            |id: &str, kind: Option<&str>| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        json!({
            "packages": [
                package("1", "cli", None, "MIT"),
                package("2", "a", Some("registry"), "MIT/Apache-2.0"),
                package("3", "b", Some("registry"), licence_of_b),
                package("4", "t", Some("registry"), "GPL-3.0"),
            ],
            "resolve": { "nodes": [
                { "id": "1", "deps": [dependency("2", None), dependency("4", Some("dev"))] },
                { "id": "2", "deps": [dependency("3", None)] },
                { "id": "3", "deps": [] },
                { "id": "4", "deps": [] },
            ] },
        })
    }

    const DENY: &str = "[licenses]\nallow = [\"MIT\", \"Zlib\", \"Apache-2.0\"]\n";

    #[test]
    fn what_is_linked_is_listed_with_its_checksum() {
        let parts = parts(&metadata("(MIT OR GPL-2.0) AND Zlib")).unwrap();
        assert_eq!(findings(&parts, DENY).unwrap(), [""; 0]);
        let scripts = r#"{"packages": [{"name": "vega", "version": "6.4.0"}]}"#;
        let lock = "[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nchecksum = \"5f\"\n";
        let document = document(&parts, lock, scripts, "x86_64-unknown-linux-gnu").unwrap();
        let components = document["components"].as_array().unwrap();
        let names: Vec<&Value> = components.iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["a", "b", "vega"]);
        assert_eq!(components[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert!(components[0]["hashes"].is_null());
        assert_eq!(components[1]["hashes"][0]["content"], "5f");
    }

    #[test]
    fn a_licence_with_conditions_is_found() {
        for licence in ["GPL-2.0", "MIT AND MPL-2.0", "", "(GPL-2.0 OR LGPL-3.0) AND MIT"] {
            let found = findings(&parts(&metadata(licence)).unwrap(), DENY).unwrap();
            assert_eq!(found.len(), 1, "{licence}");
            assert!(found[0].starts_with("b 1.0.0: "), "{found:?}");
        }
    }
}
