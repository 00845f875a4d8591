//! Checks of the project's own rules: `cargo xtask check`, and the same as tests of this crate.
//!
//! **Invariant:** every rule is a pure function that a unit test shows a bad example to; only
//! this file and `tree.rs` touch the file system.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of the command line")]

mod catalogue;
mod circles;
mod lanes;
mod layers;
mod links;
mod pattern;
mod product;
mod public;
mod rules;
mod run_tests;
mod sbom;
mod size;
mod skips;
mod tidy;
mod tree;
mod words;

use std::process::{Command, ExitCode};

use product::Product;

const USAGE: &str = "usage: cargo xtask check | layers | circles | public | tidy | links | words | \
     size | licences | skips <file> | sbom <target> | test quick|test|all";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let findings = match arguments[..] {
        ["check"] => [
            layer_findings,
            circle_findings,
            public_findings,
            tidy_findings,
            link_findings,
            word_findings,
            licence_findings,
        ]
        .iter()
        .map(|findings| findings())
        .collect::<Result<Vec<_>, _>>()
        .map(|all| all.concat()),
        ["layers"] => layer_findings(),
        ["circles"] => circle_findings(),
        ["public"] => public_findings(),
        ["size"] => tree::files(&tree::root()).map(|files| {
            print!("{}", size::table(&Product::of(&files)));
            Vec::new()
        }),
        ["licences"] => licence_findings(),
        ["sbom", target] => bill_of_materials(target).map(|text| {
            println!("{text}");
            Vec::new()
        }),
        ["tidy"] => tidy_findings(),
        ["links"] => link_findings(),
        ["words"] => word_findings(),
        ["skips", path] => skip_findings(path),
        ["test", lane] => test_findings(lane),
        _ => Err(USAGE.to_owned()),
    };
    match findings {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            for finding in &findings {
                println!("{finding}");
            }
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn layer_findings() -> Result<Vec<String>, String> {
    let crates = layers::parse(&metadata(&["--no-deps"])?)?;
    let rows = layers::missing_rows(&crates, &read("ARCHITECTURE.md")?);
    Ok([layers::findings(&crates), rows].concat())
}

/// What `cargo metadata` prints.
fn metadata(options: &[&str]) -> Result<String, String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(options)
        .current_dir(tree::root())
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// A file of the repository.
fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(tree::root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Runs the tests of a lane; their own output is what a failure shows.
fn test_findings(lane: &str) -> Result<Vec<String>, String> {
    let lane = lanes::Lane::named(lane).ok_or("a lane is quick, test or all")?;
    let passed = run_tests::run(lane, &read("tests/slow.txt")?)?;
    Ok(if passed { Vec::new() } else { vec!["tests failed: see above".to_owned()] })
}

/// The crates that are linked into the program for a target.
fn linked(target: &str) -> Result<std::collections::BTreeSet<sbom::Part>, String> {
    let text = metadata(&["--filter-platform", target])?;
    let metadata =
        serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    sbom::parts(&metadata)
}

fn licence_findings() -> Result<Vec<String>, String> {
    sbom::findings(&linked("x86_64-unknown-linux-gnu")?, &read("deny.toml")?)
}

fn bill_of_materials(target: &str) -> Result<String, String> {
    let (lock, scripts) = (read("Cargo.lock")?, read("web/lock.json")?);
    let document = sbom::document(&linked(target)?, &lock, &scripts, target)?;
    serde_json::to_string_pretty(&document).map_err(|error| error.to_string())
}

fn circle_findings() -> Result<Vec<String>, String> {
    Ok(circles::findings(&Product::of(&tree::files(&tree::root())?)))
}

fn public_findings() -> Result<Vec<String>, String> {
    Ok(public::findings(&Product::of(&tree::files(&tree::root())?)))
}

fn tidy_findings() -> Result<Vec<String>, String> {
    Ok(tidy::findings(&tree::files(&tree::root())?))
}

fn link_findings() -> Result<Vec<String>, String> {
    let root = tree::root();
    Ok(links::findings(&tree::files(&root)?, &|path| root.join(path).exists()))
}

fn word_findings() -> Result<Vec<String>, String> {
    Ok(words::findings(&tree::files(&tree::root())?))
}

fn skip_findings(path: &str) -> Result<Vec<String>, String> {
    let skipped = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    skips::findings(&skipped, &read("tests/allowed-skips.txt")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ships_has_allowed_licences() {
        assert_eq!(licence_findings().unwrap(), [""; 0]);
    }

    #[test]
    fn this_workspace_is_layered() {
        assert_eq!(layer_findings().unwrap(), [""; 0]);
    }

    #[test]
    fn no_files_of_this_tree_import_each_other() {
        assert_eq!(circle_findings().unwrap(), [""; 0]);
    }

    #[test]
    fn nothing_public_of_this_tree_is_for_tests_only() {
        assert_eq!(public_findings().unwrap(), [""; 0]);
    }

    #[test]
    fn this_tree_is_tidy() {
        assert_eq!(tidy_findings().unwrap(), [""; 0]);
    }

    #[test]
    fn links_of_this_tree_lead_somewhere() {
        assert_eq!(link_findings().unwrap(), [""; 0]);
    }

    #[test]
    fn this_tree_says_it_in_plain_words() {
        assert_eq!(word_findings().unwrap(), [""; 0]);
    }

    #[test]
    fn the_list_of_allowed_skips_can_be_read() {
        let allowed = std::fs::read_to_string(tree::root().join("tests/allowed-skips.txt"));
        assert_eq!(skips::findings("", &allowed.unwrap()), Ok(Vec::new()));
    }
}
