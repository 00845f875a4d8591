//! `docs/experiments.md` documents what a plan can hold, no more and no less.

use std::collections::BTreeSet;
use std::path::Path;

use experiment::{PARAMETERS, parse_plan, parse_sweep};

const DOCUMENT: &str = include_str!("../../../../docs/experiments.md");

/// The section below a heading of the second level.
fn section(heading: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(&format!("\n## {heading}\n")).expect("the heading");
    rest.split_once("\n## ").map_or(rest, |(section, _)| section)
}

/// The names in the first column of the tables of a section.
fn names(section: &str) -> BTreeSet<&str> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    let first = rows.filter_map(|row| row.split_once(" |").map(|(first, _)| first));
    first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn every_parameter_stands_in_the_page_and_no_other() {
    let known: BTreeSet<&str> = PARAMETERS.iter().flat_map(|(name, _)| name.split(", ")).collect();
    assert_eq!(names(section("Parameters")), known);
}

/// A key that is unknown is answered with all that are known.
#[test]
fn every_key_stands_in_the_page() {
    let section = names(section("The keys of a plan"));
    let factor = "name = \"x\"\n[[factor]]\nname = \"f\"\n";
    for (text, expected) in [
        ("unknown = 1\n".to_owned(), 8),
        (format!("{factor}unknown = 1\n"), 6),
        (format!("{factor}levels = [{{ name = \"a\", unknown = 1 }}]\n"), 4),
    ] {
        let told = parse_plan(&text).unwrap_err().to_string();
        let (_, known) = told.split_once("expected one of ").expect("all that are known");
        let keys: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        assert_eq!(keys.len(), expected, "{told}");
        for key in keys {
            let named = section.contains(key) || section.contains(format!("[{key}]").as_str());
            assert!(named || section.contains(format!("[[{key}]]").as_str()), "{key}");
        }
    }
}

#[test]
fn plans_of_the_page_can_be_read() {
    let blocks = DOCUMENT.split("```toml\n").skip(1).filter_map(|block| block.split("```").next());
    let plans: Vec<&str> = blocks.collect();
    assert_eq!(plans.len(), 3);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples");
    for text in plans {
        let plan = parse_plan(text).unwrap();
        let cells = plan.cells(&examples).unwrap();
        assert!(cells.len() >= 2, "{}", plan.name);
    }
    let example = include_str!("../../../../examples/compiler-vs-system.toml");
    let of_page = DOCUMENT.split("```toml\n").nth(3).and_then(|block| block.split("```").next());
    assert_eq!(of_page.map(parse_plan), Some(parse_plan(example)));
}

#[test]
fn the_sweep_of_its_page_can_be_read_and_every_key_stands_there() {
    const PAGE: &str = include_str!("../../../../docs/sweeps.md");
    let block = PAGE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let plan = parse_sweep(block.unwrap()).unwrap();
    assert_eq!((plan.over.as_str(), plan.rows().len()), ("touch.footprint", 2));
    let wrong = "name = \"x\"\n[sweep]\nunknown = 1\n";
    let told = parse_sweep(wrong).unwrap_err().to_string();
    let (_, known) = told.split_once("expected one of ").expect("all that are known");
    for key in known.split('`').skip(1).step_by(2) {
        assert!(PAGE.contains(&format!("`{key}`")), "{key}");
    }
}
