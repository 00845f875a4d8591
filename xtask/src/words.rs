//! The project's plain English: words, old names and openings of comments that are not to come
//! back.

use std::collections::BTreeSet;

use crate::tree::{self, SourceFile};

/// Words of prose, and what to say instead.
const WORDS: &[(&str, &str)] = &[
    ("a line each", "one line each"),
    ("a row a", "one row per"),
    ("aforesaid", "name the thing"),
    ("afresh", "again"),
    ("anew", "again"),
    ("anybody", "name the actor"),
    ("asked for", "requested"),
    ("beside", "next to, with, besides"),
    ("came of", "the result of"),
    ("dearer", "more expensive"),
    ("dearest", "most expensive"),
    ("dose", "load volume"),
    ("doses", "load volumes"),
    ("everybody", "name the actor"),
    ("for ever", "forever"),
    ("for want of", "for lack of"),
    ("go on", "continue"),
    ("goes on", "continues"),
    ("hearsay", "name the source"),
    ("how manieth", "number"),
    ("in vain", "without success"),
    ("is not there", "is missing, was not found"),
    ("keeper", "lease holder"),
    ("leaves it away", "omits it"),
    ("made again", "rebuilt, repeated"),
    ("moment", "time, timestamp"),
    ("moments", "times, timestamps"),
    ("one a cell", "one per cell"),
    ("one a cpu", "one per CPU"),
    ("put back", "restored"),
    ("put down to", "caused by"),
    ("somebody", "name the actor"),
    ("tells", "reports, prints, shows"),
    ("thereby", "two sentences"),
    ("therein", "two sentences"),
    ("to and fro", "back and forth"),
    ("to be had", "available"),
    ("told", "reported, printed, given"),
    ("warden", "cleanup process"),
    ("was not there", "was missing"),
    ("went on", "continued"),
    ("were not made", "are missing, did not run"),
    ("were there already", "already existed"),
    ("what of it", "say what the argument does"),
    ("whereby", "two sentences"),
    ("wherein", "two sentences"),
    ("whoever", "name the actor"),
];

/// Old names of types, and what to call them.
const NAMES: &[(&str, &str)] = &[
    ("Asked", "Request, Options"),
    ("Heard", "Message, Reply"),
    ("NotSo", "name the condition that failed"),
    ("Said", "Message, Reply"),
    ("Told", "Message, Report"),
    ("strike", "name the action"),
];

/// Openings of comments that hang off what is above and cannot be read alone.
const OPENINGS: &[&str] = &["By them", "Of", "That", "The same", "Those"];

/// Files in which a word is allowed, and why.
const EXCEPTIONS: &[(&str, &str, &str)] =
    &[("crates/program/cli/src/mmu/run/program_run.rs", "beside", "a key of the JSON")];

/// How a comment or a string begins, and how it ends.
type Marks = [(&'static str, &'static str)];
const RUST: &Marks = &[("//", "\n"), ("/*", "*/"), ("r#\"", "\"#"), ("\"", "\"")];
const PYTHON: &Marks = &[("#", "\n"), ("\"\"\"", "\"\"\""), ("\"", "\""), ("'", "'")];
/// What is code within prose.
const CODE: &Marks = &[("```", "```"), ("`", "`"), ("{", "}")];
/// Characters of Rust that begin no string.
const CHARACTERS: &[&str] = &["'\"'", "'\\\"'"];

/// A use of a word to be replaced.
struct Found {
    line: usize,
    word: &'static str,
    instead: &'static str,
}

/// Uses of these words in the tree, and needless exceptions, one line each.
pub(crate) fn findings(files: &[SourceFile]) -> Vec<String> {
    let mut unused: BTreeSet<_> = EXCEPTIONS.iter().map(|(path, word, _)| (*path, *word)).collect();
    let is_excepted = |path, word| EXCEPTIONS.iter().any(|row| (row.0, row.1) == (path, word));
    let mut findings = Vec::new();
    for SourceFile { path, text } in files {
        for Found { line, word, instead } in text.iter().flat_map(|text| found(path, text)) {
            unused.remove(&(path.as_str(), word));
            if !is_excepted(path, word) {
                findings.push(format!("{path}:{line}: {word:?}: better: {instead}"));
            }
        }
    }
    let needless = |(path, word)| format!("{path}: no exception is needed for {word:?}");
    findings.extend(unused.into_iter().map(needless));
    findings.extend(files.iter().flat_map(opening_findings));
    findings
}

/// Doc comments of a Rust file, product or test, that begin with one of [`OPENINGS`].
fn opening_findings(file: &SourceFile) -> Vec<String> {
    let SourceFile { path, text } = file;
    let text = text.as_deref().filter(|_| path.ends_with(".rs")).unwrap_or_default();
    let found = openings(text).into_iter();
    found
        .map(|(line, opening)| format!("{path}:{line}: {opening:?}: begin with what it is"))
        .collect()
}

/// The lines, from 1, on which a comment begins with one of [`OPENINGS`].
fn openings(text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut is_continued = false;
    for (number, line) in (1..).zip(text.lines()) {
        let comment = comment(line);
        if let Some(comment) = comment.filter(|_| !is_continued) {
            let opens = |opening: &&&str| {
                let rest = comment.strip_prefix(**opening);
                rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            };
            found.extend(OPENINGS.iter().find(opens).map(|opening| (number, *opening)));
        }
        is_continued = comment.is_some();
    }
    found
}

/// The text of a line that is a comment; one with four slashes is not.
fn comment(line: &str) -> Option<&str> {
    let comment = line.trim_start().strip_prefix("//")?;
    let comment = comment.strip_prefix(['/', '!']).unwrap_or(comment);
    (!comment.starts_with('/')).then(|| comment.trim_start())
}

fn found(path: &str, text: &str) -> Vec<Found> {
    let (code, prose) = if path.starts_with("crates/") && path.ends_with(".rs") {
        if !path.contains("/src/") {
            return Vec::new();
        }
        split(text, RUST)
    } else if path.starts_with("python/") && path.ends_with(".py") {
        split(text, PYTHON)
    } else if tree::is_page(path) || path.ends_with(".snap") {
        (String::new(), text.to_owned())
    } else {
        return Vec::new();
    };
    let prose = split(&prose, CODE).0.to_lowercase();
    let mut found = Vec::new();
    for (number, line) in prose.lines().enumerate() {
        let words = WORDS.iter().filter(|(word, _)| has_word(line, word));
        let number = number + 1;
        found.extend(words.map(|&(word, instead)| Found { line: number, word, instead }));
        if has_no_for_not(line) {
            found.push(Found { line: number, word: "is no", instead: "is not a" });
        }
        if has_bare_fraction(line) {
            found.push(Found { line: number, word: ".5", instead: "0.5" });
        }
    }
    for (number, line) in code.lines().enumerate() {
        let names = NAMES.iter().filter(|(name, _)| has_word(line, name));
        found.extend(names.map(|&(word, instead)| Found { line: number + 1, word, instead }));
    }
    found
}

/// A text without its marked parts, and those parts alone; the lines stay where they are.
fn split(text: &str, marks: &Marks) -> (String, String) {
    let (mut outside, mut inside) = (String::new(), String::new());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let character = CHARACTERS.iter().find(|character| rest.starts_with(**character));
        let mark = marks.iter().find(|(begin, _)| rest.starts_with(begin));
        let length = match mark {
            Some((begin, end)) => begin.len() + end_of(&rest[begin.len()..], end),
            None => character.map_or(first.len_utf8(), |character| character.len()),
        };
        let (taken, after) = rest.split_at(length);
        let blank = |c: char| if c == '\n' { c } else { ' ' };
        let (to, other) = match mark {
            Some(_) => (&mut inside, &mut outside),
            None => (&mut outside, &mut inside),
        };
        to.push_str(taken);
        other.extend(taken.chars().map(blank));
        rest = after;
    }
    (outside, inside)
}

/// Bytes to the end of a marked part; a backslash guards a quotation mark.
fn end_of(text: &str, end: &str) -> usize {
    let mut from = 0;
    while let Some(at) = text[from..].find(end).map(|at| from + at) {
        let guards = text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        from = at + end.len();
        if end.len() > 1 || !"\"'".contains(end) || guards % 2 == 0 {
            return from;
        }
    }
    text.len()
}

/// Whether a line has a word that is no part of an identifier.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || "_-".contains(c);
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(joins) && !line[at + word.len()..].starts_with(joins))
}

/// Words after "is no" that make it English.
const AFTER_NO: &[&str] = &["less", "longer", "more", "reason", "such"];

/// Whether a line has "X is no Y" where English has "X is not a Y".
fn has_no_for_not(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.windows(4).any(|four| {
        let is_verb = ["is", "are", "was", "were"].contains(&four[1]) && four[2] == "no";
        let names = four[3].starts_with(|c: char| c.is_ascii_lowercase());
        is_verb && names && !four[0].ends_with("there") && !AFTER_NO.contains(&four[3])
    })
}

/// Whether a line has a number without the digit before its point.
fn has_bare_fraction(line: &str) -> bool {
    line.match_indices('.').any(|(at, _)| {
        let before = line[..at].ends_with([' ', '(', '[']);
        before && line[at + 1..].starts_with(|c: char| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines and words that are found.
    fn lines(path: &str, text: &str) -> Vec<(usize, &'static str)> {
        found(path, text).iter().map(|found| (found.line, found.word)).collect()
    }

    #[test]
    fn a_word_is_found_in_every_kind_of_place() {
        let rust =
            "//! Told.\nfn told() {\n    // anew\n    f(\"a \\\" anew\", r#\"\n\"anew\"\"#);\n}\n";
        let expected = [(1, "told"), (3, "anew"), (4, "anew"), (5, "anew")];
        assert_eq!(lines("crates/a/src/b.rs", rust), expected);
        assert_eq!(lines("crates/a/tests/b.rs", rust), []);
        let python = "told = 'anew'\ndef told():\n    \"\"\"It\n    tells.\"\"\"  # anew\n";
        assert_eq!(lines("python/a.py", python), [(1, "anew"), (4, "anew"), (4, "tells")]);
        for path in ["docs/a.md", "README.md", "crates/a/src/snapshots/b.snap"] {
            assert_eq!(lines(path, "a\nIt is made again.\n"), [(2, "made again")], "{path}");
            assert_eq!(lines(path, "about .05 s, 0.05 s, a.05\n"), [(1, ".5")], "{path}");
        }
    }

    #[test]
    fn a_predicate_is_not_negated_by_no() {
        let page = "It is no page.\nThere is no page, and it is no longer one.\n";
        assert_eq!(lines("docs/a.md", page), [(1, "is no")]);
    }

    #[test]
    fn code_in_prose_and_longer_words_are_not_found() {
        let page = "`told`\n```sh\ntold\n```\nretold, told_by, --told {told}\n";
        assert_eq!(lines("docs/a.md", page), []);
        assert_eq!(lines("crates/a/src/b.rs", "'\"'; told; '\\\"'; \"{told}\"; // `told`\n"), []);
    }

    #[test]
    fn an_old_name_is_found_in_code_only() {
        let rust = "// Asked once.\nstruct Asked;\n";
        assert_eq!(lines("crates/a/src/b.rs", rust), [(2, "Asked")]);
    }

    #[test]
    fn a_comment_that_cannot_be_read_alone_is_found() {
        for (bad, opening) in [
            ("//! Those of a guest.\n", "Those"),
            ("/// By them and both rates.\n", "By them"),
            ("struct A {\n    /// Of each core.\n    a: u8,\n}\n", "Of"),
            ("/// The start.\nfn a() {}\n/// The same, of\n/// The same.\nfn b() {}\n", "The same"),
            ("fn a() {}\n\n/// That: `a`.\n", "That"),
            ("fn a() {\n    // Of two cores, the first.\n}\n", "Of"),
        ] {
            let found: Vec<_> = openings(bad).into_iter().map(|(_, opening)| opening).collect();
            assert_eq!(found, [opening], "{bad}");
        }
        let file = SourceFile {
            path: "crates/a/tests/b.rs".into(),
            text: Some("//! Why.\n\n/// Of each core.\nstruct A;\n".into()),
        };
        let expected = "crates/a/tests/b.rs:3: \"Of\": begin with what it is".to_owned();
        assert!(findings(&[file]).contains(&expected));
    }

    #[test]
    fn openings_of_other_lines_and_longer_words_are_not_found() {
        for fine in [
            "/// Busy time of each core, in ns.\n",
            "/// Time of a core, in ns.\n/// Of two cores, the first one.\n",
            "/// Offset, in bytes.\n",
            "//// Of a line.\n",
            "let a = \"/// Of a text\";\n",
        ] {
            assert_eq!(openings(fine), [], "{fine}");
        }
        let page = SourceFile { path: "docs/a.md".into(), text: Some("/// Of a page.\n".into()) };
        assert_eq!(opening_findings(&page), [""; 0]);
    }

    #[test]
    fn a_finding_says_what_is_better() {
        let file = SourceFile { path: "docs/a.md".into(), text: Some("Anew.\n".into()) };
        let expected = "docs/a.md:1: \"anew\": better: again".to_owned();
        assert!(findings(&[file]).contains(&expected));
    }
}
