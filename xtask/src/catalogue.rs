//! The tables of loads and probes against their sources and their pages.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::pattern;

/// A load or probe as its page has to describe it.
#[derive(Debug)]
pub(crate) struct Entry {
    name: String,
    version: u32,
    /// Names that stand in run files.
    words: Vec<String>,
}

/// All loads and provocations of the tables.
pub(crate) fn loads() -> Vec<Entry> {
    loads::every().map(load).collect()
}

fn load(desc: &loads::Desc) -> Entry {
    let setting = loads::Setting {
        memory_bytes: 1 << 30,
        cpus_milli: 2000,
        swap_bytes: 1 << 30,
        work_dir: PathBuf::from("/"),
        free_disk_bytes: 1 << 40,
        queue_key: 0,
        seed: 0,
        intensity: 1.0,
    };
    let mut words: Vec<String> = desc.totals.iter().map(|word| (*word).to_owned()).collect();
    // A load that this machine cannot run has no parameters here.
    words.extend((desc.plan)(&setting).unwrap_or_default().params.into_keys());
    words.extend(Some(desc.dose_unit.to_owned()).filter(|unit| !unit.is_empty()));
    Entry { name: desc.name.to_owned(), version: desc.version, words }
}

/// All probes of the table.
pub(crate) fn probes() -> Vec<Entry> {
    probes::ALL.iter().map(probe).collect()
}

fn probe(desc: &probes::Desc) -> Entry {
    let setting = probes::Setting {
        memory_bytes: 1 << 30,
        swap_bytes: 1 << 30,
        interval_ns: 1,
        work_dir: PathBuf::from("/"),
        seed: 0,
    };
    let mut words: Vec<String> = desc.parts.iter().map(|word| (*word).to_owned()).collect();
    words.extend((desc.plan)(&setting).params.into_keys());
    Entry { name: desc.name.to_owned(), version: desc.version, words }
}

/// Names that stand on one side only.
pub(crate) fn unequal<'a>(
    left: (&str, impl IntoIterator<Item = &'a str>),
    right: (&str, impl IntoIterator<Item = &'a str>),
) -> Vec<String> {
    let lefts: BTreeSet<&str> = left.1.into_iter().collect();
    let rights: BTreeSet<&str> = right.1.into_iter().collect();
    let only = |name: &&str, here: &str, there: &str| {
        format!("tidy: {name:?} is in {here}, but not in {there}")
    };
    lefts
        .difference(&rights)
        .map(|name| only(name, left.0, right.0))
        .chain(rights.difference(&lefts).map(|name| only(name, right.0, left.0)))
        .collect()
}

/// Names of the entries.
pub(crate) fn names(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.name.as_str()).collect()
}

/// What an entry's page leaves out: names that stand in run files, and its version.
pub(crate) fn gaps(entry: &Entry, path: &str, page: &str) -> Vec<String> {
    let mut gaps: Vec<String> = entry
        .words
        .iter()
        .filter(|word| !page.contains(&format!("`{word}`")))
        .map(|word| format!("{path}: {:?} has `{word}`, which is not explained", entry.name))
        .collect();
    let version = format!("- {}: ", entry.version);
    if !page.lines().any(|line| line.starts_with(&version)) {
        gaps.push(format!("{path}: version {} of {:?} is not listed", entry.version, entry.name));
    }
    gaps
}

/// Sections of a page by their headings of the second level.
pub(crate) fn sections(page: &str) -> Vec<(&str, &str)> {
    page.split("\n## ").skip(1).filter_map(|section| section.split_once('\n')).collect()
}

/// The name of the load that a source file defines, if it defines one.
pub(crate) fn defined_load(text: &str) -> Option<&str> {
    let (_, row) = text.split_once("const LOAD: Desc")?;
    row.split_once("name: \"")?.1.split_once('"').map(|(name, _)| name)
}

/// Whether a file of published results is named in the text that says where they come from.
///
/// A name may stand for several files by a `*`, but not begin with it.
pub(crate) fn is_mentioned(file_name: &str, readme: &str) -> bool {
    readme
        .split('`')
        .skip(1)
        .step_by(2)
        .any(|word| !word.starts_with('*') && pattern::matches(word, file_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_on_one_side_only_is_found_from_both_sides() {
        let findings = unequal(("loads::ALL", ["a", "b"]), ("docs/loads", ["b", "c"]));
        assert_eq!(
            findings,
            [
                "tidy: \"a\" is in loads::ALL, but not in docs/loads",
                "tidy: \"c\" is in docs/loads, but not in loads::ALL"
            ]
        );
    }

    #[test]
    fn a_page_that_leaves_something_out_is_found() {
        let entry = Entry { name: "x".to_owned(), version: 2, words: vec!["busy_ns".to_owned()] };
        assert_eq!(gaps(&entry, "x.md", "`busy_ns` is how long.\n\n- 2: faster.\n"), [""; 0]);
        assert_eq!(
            gaps(&entry, "x.md", "busy_ns\n- 1: first.\n"),
            [
                "x.md: \"x\" has `busy_ns`, which is not explained",
                "x.md: version 2 of \"x\" is not listed"
            ]
        );
    }

    #[test]
    fn words_of_every_load_and_probe_are_known() {
        let words = |entries: Vec<Entry>, name: &str| {
            entries.into_iter().find(|entry| entry.name == name).unwrap().words
        };
        assert_eq!(
            words(loads(), "cpuload"),
            ["cpu_ns", "passes", "array_bytes", "processes", "cpu_ns"]
        );
        assert_eq!(words(probes(), "wake"), ["period_ns"]);
    }

    #[test]
    fn sections_have_names_and_texts() {
        assert_eq!(
            sections("# t\n\n## a\nb\n### c\n\n## d\ne\n"),
            [("a", "b\n### c\n"), ("d", "e\n")]
        );
    }

    #[test]
    fn a_load_is_known_by_its_source() {
        let source = "pub(crate) const LOAD: Desc = Desc {\n    name: \"x\",\n";
        assert_eq!(defined_load(source), Some("x"));
        assert_eq!(defined_load("const OTHER: Desc = Desc { name: \"x\" }"), None);
    }

    #[test]
    fn a_file_is_mentioned_by_name_or_by_pattern_but_not_by_ending_alone() {
        let readme = "`*.out` are results. | `a-*.out`, `b.csv` |";
        assert!(is_mentioned("a-1.out", readme) && is_mentioned("b.csv", readme));
        assert!(!is_mentioned("c.out", readme));
    }
}
