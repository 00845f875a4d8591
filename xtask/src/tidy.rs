//! All rules over all files, and the rules that need more than one file.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalogue::{defined, gaps, is_mentioned, sections, unequal};
use crate::rules;
use crate::tree::SourceFile;

/// Endings of files that are text.
const TEXT_ENDINGS: &[&str] = &["csv", "json", "md", "out", "py", "rs", "sh", "toml", "txt"];

/// What is wrong in the tree, one line each.
pub(crate) fn findings(files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files {
        match &file.text {
            Some(text) => findings.extend(file_findings(&file.path, text)),
            None if is_text(&file.path) => findings.push(format!("{}: not UTF-8", file.path)),
            None => {}
        }
    }
    findings.extend(source_findings(files));
    findings.extend(load_findings(files));
    findings.extend(probe_findings(files));
    findings.extend(rule_findings(files));
    findings.extend(reference_findings(files));
    findings
}

fn file_findings(path: &str, text: &str) -> Vec<String> {
    rules::ALL
        .iter()
        .flat_map(|rule| rule(path, text))
        .map(|(line, message)| format!("{path}:{line}: {message}"))
        .collect()
}

fn is_text(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| TEXT_ENDINGS.contains(&ending))
}

/// Every source of a workload has a row in the catalogue.
fn source_findings(files: &[SourceFile]) -> Vec<String> {
    let known: BTreeSet<&str> = workloads::ALL.iter().map(|workload| workload.name).collect();
    texts(files, "crates/measure/workloads/src/")
        .filter_map(|(_, text)| defined(text))
        .filter(|name| !known.contains(name))
        .map(|name| format!("tidy: {name:?} has a source, but no row in the catalogue"))
        .collect()
}

/// Every load has a page that explains its names, and every page is one's.
fn load_findings(files: &[SourceFile]) -> Vec<String> {
    let pages: BTreeMap<&str, &str> = texts(files, "docs/loads/")
        .filter_map(|(path, text)| {
            Some((path.strip_suffix(".md")?.trim_start_matches("docs/loads/"), text))
        })
        .collect();
    let loads = || workloads::loads_and_provocations();
    let mut findings = unequal(
        ("the catalogue", loads().map(|load| load.name)),
        ("docs/loads", pages.keys().copied()),
    );
    for load in loads() {
        let page = pages.get(load.name);
        let path = format!("docs/loads/{}.md", load.name);
        findings.extend(page.into_iter().flat_map(|page| gaps(load, &path, page)));
    }
    findings
}

/// Every rule of the doctor has a page, and every page is one's.
fn rule_findings(files: &[SourceFile]) -> Vec<String> {
    let rules = doctor::ALL.iter().map(|rule| rule.name);
    let pages = texts(files, "docs/findings/").filter_map(|(path, _)| {
        Some(path.strip_suffix(".md")?.trim_start_matches("docs/findings/"))
    });
    unequal(("doctor::ALL", rules), ("docs/findings", pages))
}

/// Every probe has a section that explains its names.
fn probe_findings(files: &[SourceFile]) -> Vec<String> {
    let path = "docs/probes.md";
    let page = texts(files, path).map(|(_, text)| text).next().unwrap_or_default();
    let sections: BTreeMap<&str, &str> = sections(page).into_iter().collect();
    let mut findings = unequal(
        ("the catalogue", workloads::probes().map(|probe| probe.name)),
        (path, sections.keys().copied()),
    );
    for probe in workloads::probes() {
        let section = sections.get(probe.name);
        findings.extend(section.into_iter().flat_map(|section| gaps(probe, path, section)));
    }
    findings
}

/// Every published result names its source.
fn reference_findings(files: &[SourceFile]) -> Vec<String> {
    let readme_path = "reference/README.md";
    let readme = texts(files, readme_path).map(|(_, text)| text).next().unwrap_or_default();
    files
        .iter()
        .filter(|file| file.path.starts_with("reference/") && file.path != readme_path)
        .filter(|file| !is_mentioned(file.path.rsplit('/').next().unwrap_or_default(), readme))
        .map(|file| format!("{}: not mentioned in {readme_path}", file.path))
        .collect()
}

/// Paths and texts of the files whose path begins so.
fn texts<'a>(
    files: &'a [SourceFile],
    beginning: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    files
        .iter()
        .filter(move |file| file.path.starts_with(beginning))
        .filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: Option<&str>) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.map(str::to_owned) }
    }

    #[test]
    fn a_finding_names_file_and_line() {
        let findings = file_findings("crates/a/src/b.rs", "//! Why.\n#[allow(x)]\n");
        assert_eq!(
            findings,
            ["crates/a/src/b.rs:2: use `expect` with a reason instead of `allow`"]
        );
    }

    #[test]
    fn text_that_is_not_utf_8_is_found() {
        let findings = findings(&[file("docs/a.md", None), file("docs/a.png", None)]);
        assert!(findings.contains(&"docs/a.md: not UTF-8".to_owned()));
        assert!(!findings.iter().any(|finding| finding.contains("a.png")));
    }

    #[test]
    fn a_page_without_load_and_a_load_without_page_are_found() {
        let findings = load_findings(&[file("docs/loads/tea.md", Some(""))]);
        for expected in [
            "tidy: \"tea\" is in docs/loads, but not in the catalogue",
            "tidy: \"noload\" is in the catalogue, but not in docs/loads",
        ] {
            assert!(findings.iter().any(|finding| finding == expected), "{findings:#?}");
        }
    }

    #[test]
    fn a_load_that_is_not_in_the_table_is_found() {
        let source = "//! Tea.\npub(crate) const LOAD: Workload = Workload {\n    name: \"tea\",\n";
        let files = [file("crates/measure/workloads/src/loads/tea.rs", Some(source))];
        let expected = "tidy: \"tea\" has a source, but no row in the catalogue";
        assert_eq!(source_findings(&files), [expected]);
    }

    #[test]
    fn a_page_with_gaps_is_found() {
        let findings = load_findings(&[file("docs/loads/cpuload.md", Some("# cpuload\n"))]);
        let expected = "docs/loads/cpuload.md: \"cpuload\" has `passes`, which is not explained";
        assert!(findings.iter().any(|finding| finding == expected), "{findings:#?}");
    }

    #[test]
    fn a_probe_without_section_is_found() {
        let findings = probe_findings(&[file("docs/probes.md", Some("# Probes\n\n## wake\n"))]);
        let expected = "tidy: \"exec\" is in the catalogue, but not in docs/probes.md";
        assert!(findings.iter().any(|finding| finding == expected), "{findings:#?}");
        let expected = "docs/probes.md: \"wake\" has `period_ns`, which is not explained";
        assert!(findings.iter().any(|finding| finding == expected), "{findings:#?}");
    }

    #[test]
    fn a_rule_without_page_is_found_and_so_is_a_page_without_rule() {
        let findings = rule_findings(&[file("docs/findings/nothing.md", Some("# nothing\n"))]);
        for expected in [
            "tidy: \"swap-thrash\" is in doctor::ALL, but not in docs/findings",
            "tidy: \"nothing\" is in docs/findings, but not in doctor::ALL",
        ] {
            assert!(findings.iter().any(|finding| finding == expected), "{findings:#?}");
        }
    }

    #[test]
    fn a_published_result_of_unknown_origin_is_found() {
        let readme = file("reference/README.md", Some("`a.csv`\n"));
        let files = [readme, file("reference/x/a.csv", None), file("reference/x/b.csv", None)];
        assert_eq!(
            reference_findings(&files),
            ["reference/x/b.csv: not mentioned in reference/README.md"]
        );
    }
}
