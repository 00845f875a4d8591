//! The catalogue of workloads against its sources and its pages.

use std::collections::BTreeSet;

use workloads::{Setting, Work, Workload};

use crate::pattern;

/// Names of a workload that are in run files: its parameters, its counts, its volume's unit.
fn words(workload: &Workload) -> Vec<String> {
    let setting = Setting {
        memory_bytes: 256 << 20,
        cpus_milli: 2000,
        swap_bytes: 1 << 30,
        work_dir: "/".into(),
        free_disk_bytes: 2 << 30,
        interval_ns: 1,
        intensity: 1.0,
        is_confined: true,
        ..Setting::default()
    };
    let plan = match workload.work {
        Work::Load(load) | Work::Provocation(load) | Work::Exhaustion(load) => {
            (load.plan)(&setting).unwrap_or_default()
        }
        Work::Probe(probe) => (probe.plan)(&setting),
        Work::Job => Default::default(),
    };
    let unit = Some(workload.volume_unit).filter(|unit| !unit.is_empty());
    let own = workload.params.iter().map(|param| param.name).chain(unit);
    let names = workload.measures.iter().copied().chain(own).map(str::to_owned);
    names.chain(plan.params.into_keys()).collect()
}

/// Names that are on one side only.
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

/// What a workload's page leaves out: names that are in run files, and its version.
pub(crate) fn gaps(workload: &Workload, path: &str, page: &str) -> Vec<String> {
    let name = workload.name;
    let mut gaps: Vec<String> = words(workload)
        .into_iter()
        .filter(|word| !page.contains(&format!("`{word}`")))
        .map(|word| format!("{path}: {name:?} has `{word}`, which is not explained"))
        .collect();
    let version = format!("- {}: ", workload.version);
    if !page.lines().any(|line| line.starts_with(&version)) {
        gaps.push(format!("{path}: version {} of {name:?} is not listed", workload.version));
    }
    gaps
}

/// Sections of a page by their headings of the second level.
pub(crate) fn sections(page: &str) -> Vec<(&str, &str)> {
    page.split("\n## ").skip(1).filter_map(|section| section.split_once('\n')).collect()
}

/// The name of the load or probe that a source file defines, if it defines one.
pub(crate) fn defined(text: &str) -> Option<&str> {
    let (_, row) = text.split_once(": Workload = Workload {")?;
    row.split_once("name: \"")?.1.split_once('"').map(|(name, _)| name)
}

/// Whether a file of published results is named in the text that says where they come from.
///
/// A name may match several files by a `*`, but not begin with it.
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
        let findings = unequal(("catalogue.rs", ["a", "b"]), ("docs/loads", ["b", "c"]));
        assert_eq!(
            findings,
            [
                "tidy: \"a\" is in catalogue.rs, but not in docs/loads",
                "tidy: \"c\" is in docs/loads, but not in catalogue.rs"
            ]
        );
    }

    #[test]
    fn a_page_that_leaves_something_out_is_found() {
        let wake = workloads::find_probe("wake").unwrap();
        assert_eq!(gaps(wake, "x.md", "`period_ns` is how long.\n\n- 1: first.\n"), [""; 0]);
        assert_eq!(
            gaps(wake, "x.md", "period_ns\n- 2: second.\n"),
            [
                "x.md: \"wake\" has `period_ns`, which is not explained",
                "x.md: version 1 of \"wake\" is not listed"
            ]
        );
        let cpuload = words(workloads::find_load("cpuload").unwrap());
        assert_eq!(cpuload, ["cpu_ns", "passes", "cpu_ns", "array_bytes", "processes"]);
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
        let source = "pub(crate) const LOAD: Workload = Workload {\n    name: \"x\",\n";
        assert_eq!(defined(source), Some("x"));
        assert_eq!(defined("const OTHER: Desc = Desc { name: \"x\" }"), None);
    }

    #[test]
    fn a_file_is_mentioned_by_name_or_by_pattern_but_not_by_ending_alone() {
        let readme = "`*.out` are results. | `a-*.out`, `b.csv` |";
        assert!(is_mentioned("a-1.out", readme) && is_mentioned("b.csv", readme));
        assert!(!is_mentioned("c.out", readme));
    }
}
