//! The links of the pages, the files of crates that they name, and the table of contents of the guide.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{BrokenLink, CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::tree::{self, SourceFile};

/// The table of contents of the guide.
const SUMMARY: &str = "docs/SUMMARY.md";
/// The folder of the crates.
const CRATES: &str = "crates/";

/// What is wrong with links, one line each. `exists` is whether a path from the root of the
/// repository is a file or folder of it.
pub(crate) fn findings(files: &[SourceFile], exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let pages: BTreeMap<&str, Page> = files
        .iter()
        .filter(|file| file.path.ends_with(".md"))
        .filter_map(|file| Some((file.path.as_str(), Page::parse(file.text.as_deref()?))))
        .collect();
    let mut findings = Vec::new();
    for (path, page) in pages.iter().filter(|(path, _)| tree::is_page(path)) {
        for link in &page.links {
            if let Some(problem) = problem(path, &link.target, &pages, exists) {
                findings.push(format!("{path}:{}: {problem}", link.line));
            }
        }
        let undefined =
            |(line, label): &(usize, String)| format!("{path}:{line}: [{label}] is not defined");
        findings.extend(page.undefined.iter().map(undefined));
        let is_missing = |(_, place): &&(usize, String)| {
            !exists(place.trim_end_matches('/')) && !page.written.contains(place)
        };
        let missing = page.places.iter().filter(is_missing);
        findings.extend(missing.map(|(line, place)| format!("{path}:{line}: there is no {place}")));
    }
    findings.extend(contents_findings(&pages));
    findings
}

/// Every page of `docs/` is in the table of contents, once.
fn contents_findings(pages: &BTreeMap<&str, Page>) -> Vec<String> {
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    for link in pages.get(SUMMARY).into_iter().flat_map(|summary| &summary.links) {
        *listed.entry(resolved(SUMMARY, &link.target).unwrap_or_default()).or_default() += 1;
    }
    pages
        .keys()
        .filter(|path| path.starts_with("docs/") && **path != SUMMARY)
        .filter_map(|path| match listed.get(*path) {
            None => Some(format!("{path}:1: no line of {SUMMARY} leads to this page")),
            Some(1) => None,
            Some(times) => Some(format!("{SUMMARY}:1: {path} is listed {times} times")),
        })
        .collect()
}

/// What is wrong with one link.
fn problem(
    path: &str,
    target: &str,
    pages: &BTreeMap<&str, Page>,
    exists: &dyn Fn(&str) -> bool,
) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    // An entry of the table of contents without a page of its own.
    if path == SUMMARY && target.is_empty() {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = if file.is_empty() { Some(path.to_owned()) } else { resolved(path, file) };
    let Some(file) = file else {
        return Some(format!("{target} leads out of the repository"));
    };
    if !exists(&file) {
        return Some(format!("{target}: there is no {file}"));
    }
    let has_anchor = |page: &Page| page.anchors.contains(anchor);
    if !anchor.is_empty() && !pages.get(file.as_str()).is_some_and(has_anchor) {
        return Some(format!("{target}: {file} has no heading #{anchor}"));
    }
    None
}

/// A link's target as a path from the root, unless it leads out of the repository.
fn resolved(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// What matters of a page.
#[derive(Default)]
struct Page {
    links: Vec<Link>,
    /// Lines and labels of links by reference whose definition is missing.
    undefined: Vec<(usize, String)>,
    /// Names of headings, as in `page.md#name`.
    anchors: BTreeSet<String>,
    /// Lines of paths in crates, as code, and these paths.
    places: Vec<(usize, String)>,
    /// Files in crates that the reader writes: the blocks of code with their names.
    written: BTreeSet<String>,
}

/// A link or an image.
struct Link {
    line: usize,
    target: String,
}

impl Page {
    fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let line = |offset: usize| text[..offset].matches('\n').count() + 1;
        let mut undefined = Vec::new();
        let mut missing = |link: BrokenLink<'_>| {
            if matches!(link.link_type, LinkType::Reference | LinkType::Collapsed) {
                undefined.push((line(link.span.start), link.reference.to_string()));
            }
            None
        };
        let parser =
            Parser::new_with_broken_link_callback(text, Options::ENABLE_TABLES, Some(&mut missing));
        let mut heading: Option<String> = None;
        for (event, range) in parser.into_offset_iter() {
            if let Event::Code(code) = &event
                && code.starts_with(CRATES)
            {
                page.places.push((line(range.start), code.to_string()));
            }
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    let names = info.split_whitespace().filter(|word| word.starts_with(CRATES));
                    page.written.extend(names.map(str::to_owned));
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(Link { line: line(range.start), target: dest_url.to_string() });
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&text));
                }
                Event::End(TagEnd::Heading(_)) => {
                    page.add_anchor(&anchor(&heading.take().unwrap_or_default()));
                }
                _ => {}
            }
        }
        page.undefined = undefined;
        page
    }

    /// Headings of one name are numbered from the second one on.
    fn add_anchor(&mut self, name: &str) {
        let numbered = (1..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|name| !self.anchors.contains(name));
        self.anchors.extend(free);
    }
}

/// The name of a heading in links, as GitHub and mdBook form it.
fn anchor(heading: &str) -> String {
    heading
        .trim()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c => c.is_alphanumeric().then(|| c.to_lowercase().next().unwrap_or(c)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Findings of pages, in a repository of these pages and `docs/b.png`.
    fn found(pages: &[(&str, &str)]) -> Vec<String> {
        let mut files: Vec<SourceFile> = pages
            .iter()
            .map(|(path, text)| SourceFile {
                path: (*path).to_owned(),
                text: Some((*text).to_owned()),
            })
            .collect();
        if !pages.iter().any(|(path, _)| *path == SUMMARY) {
            let all: String = pages
                .iter()
                .filter_map(|(path, _)| path.strip_prefix("docs/"))
                .map(|path| format!("- [x]({path})\n"))
                .collect();
            files.push(SourceFile { path: SUMMARY.to_owned(), text: Some(all) });
        }
        let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        findings(&files, &|path| path == "docs/b.png" || paths.iter().any(|known| known == path))
    }

    #[test]
    fn links_to_what_exists_are_fine() {
        let a = "# A `b` (c)\n\n## A\n## A\n[a](#a-b-c) [b](../README.md#x_y) ![c](b.png) [d](#a-1)\n\
                 [e](https://x.y/z) `[f](none.md)` [g][h] 2.8 [2.1]\n\n[h]: #a\n\n```\n[i](none.md)\n```\n";
        assert_eq!(found(&[("docs/a.md", a), ("README.md", "# X_Y\n[a](docs/a.md)\n")]), [""; 0]);
    }

    #[test]
    fn a_link_to_a_missing_file_is_found() {
        let page = ("docs/a.md", "x\n\n| a |\n|---|\n| [b](../b.png) |\n![c](c.png)\n");
        let expected = [
            "docs/a.md:5: ../b.png: there is no b.png",
            "docs/a.md:6: c.png: there is no docs/c.png",
        ];
        assert_eq!(found(&[page]), expected);
    }

    #[test]
    fn a_link_to_a_missing_heading_is_found() {
        let pages = [("docs/a.md", "# A\n[a](#b) [c](d.md#e)\n"), ("docs/d.md", "# D\n")];
        let expected = [
            "docs/a.md:2: #b: docs/a.md has no heading #b",
            "docs/a.md:2: d.md#e: docs/d.md has no heading #e",
        ];
        assert_eq!(found(&pages), expected);
    }

    #[test]
    fn a_link_out_of_the_repository_is_found() {
        let expected = ["docs/a.md:1: ../../x leads out of the repository"];
        assert_eq!(found(&[("docs/a.md", "[a](../../x)\n")]), expected);
    }

    #[test]
    fn a_file_of_a_crate_that_is_not_there_is_found() {
        let page = "`crates/w/a/src/lib.rs` `crates/w/a/` `crates/w/b.rs`\n\n\
                    ```rust crates/w/a/src/new.rs\n```\n\nNow `crates/w/a/src/new.rs` is there.\n";
        let files = [("docs/a.md", page), ("crates/w/a/src/lib.rs", ""), ("crates/w/a", "")];
        assert_eq!(found(&files), ["docs/a.md:1: there is no crates/w/b.rs"]);
    }

    #[test]
    fn a_reference_without_definition_is_found() {
        assert_eq!(found(&[("README.md", "\n[a][b]\n")]), ["README.md:2: [b] is not defined"]);
    }

    #[test]
    fn a_page_that_is_not_in_the_table_of_contents_once_is_found() {
        let summary = (SUMMARY, "- [A](a.md)\n- [B](a.md)\n- [C]()\n");
        let expected = [
            "docs/SUMMARY.md:1: docs/a.md is listed 2 times",
            "docs/b.md:1: no line of docs/SUMMARY.md leads to this page",
        ];
        assert_eq!(found(&[summary, ("docs/a.md", ""), ("docs/b.md", "")]), expected);
    }
}
