//! The rules for single files: pure functions over a path and a text.

/// What a rule reports about a text: the line number, from 1, and what is wrong there.
pub(crate) type Findings = Vec<(usize, String)>;

/// A rule for one file.
pub(crate) type Rule = fn(path: &str, text: &str) -> Findings;

/// All rules for single files.
pub(crate) const ALL: &[Rule] = &[
    rust_is_short,
    rust_begins_with_its_purpose,
    a_file_is_named_by_its_concept,
    unsafe_is_in_sys_only,
    exceptions_are_expected_with_a_reason,
    tests_are_not_ignored,
    no_marks_of_unfinished_work,
    lines_end_where_they_end,
    crates_take_the_lints_of_the_workspace,
];

/// Most lines of a Rust file.
const MOST_LINES: usize = 500;
/// Names that say nothing.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "helpers", "helper", "types", "misc"];
/// Words that mark unfinished work; written so that this file does not contain them.
const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
/// The one file with an `allow`, for the one crate with unsafe code.
const SYS: &str = "crates/base/sys/src/lib.rs";
/// Its tests, which may count what it allocates.
const SYS_TESTS: &str = "crates/base/sys/tests/";
/// The other crates with unsafe code, which QEMU loads and which depend on no crate.
const PLUGINS: [&str; 2] =
    ["crates/explain/profile-plugin/src/lib.rs", "crates/simulate/trace-plugin/src/lib.rs"];

fn rust_is_short(path: &str, text: &str) -> Findings {
    let lines = text.lines().count();
    if is_rust(path) && lines > MOST_LINES {
        return vec![(lines, format!("{lines} lines; split a file that passes {MOST_LINES}"))];
    }
    Vec::new()
}

fn rust_begins_with_its_purpose(path: &str, text: &str) -> Findings {
    if is_rust(path) && !text.starts_with("//! ") {
        return vec![(1, "a Rust file begins with `//! ` and what it is for".to_owned())];
    }
    Vec::new()
}

fn a_file_is_named_by_its_concept(path: &str, _: &str) -> Findings {
    let parts = path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    parts
        .filter(|part| EMPTY_NAMES.contains(part))
        .map(|part| (1, format!("{part:?} says nothing; name it by its concept")))
        .collect()
}

fn unsafe_is_in_sys_only(path: &str, text: &str) -> Findings {
    let lint = concat!("unsafe", "_code");
    if !is_rust(path) || path.starts_with(SYS_TESTS) || path == SYS || PLUGINS.contains(&path) {
        return Vec::new();
    }
    numbered(text)
        .filter(|(_, line)| line.contains(lint))
        .filter(|(_, line)| !line.contains("deny(") && !line.contains("forbid("))
        .map(|(number, _)| (number, "unsafe code belongs in crates/base/sys".to_owned()))
        .collect()
}

fn exceptions_are_expected_with_a_reason(path: &str, text: &str) -> Findings {
    if !is_rust(path) || path == SYS {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in numbered(text) {
        let line = line.trim_start();
        let begins = |word: &str| {
            line.starts_with(&format!("#[{word}(")) || line.starts_with(&format!("#![{word}("))
        };
        if begins("allow") {
            findings.push((number, "use `expect` with a reason instead of `allow`".to_owned()));
        } else if begins("expect") {
            let rest = text.lines().skip(number - 1).collect::<Vec<_>>().join("\n");
            let attribute = rest.split(")]").next().unwrap_or_default();
            if !attribute.contains("reason") {
                findings.push((number, "an `expect` states its reason".to_owned()));
            }
        }
    }
    findings
}

fn tests_are_not_ignored(path: &str, text: &str) -> Findings {
    if !is_rust(path) {
        return Vec::new();
    }
    numbered(text)
        .filter(|(_, line)| line.trim_start().starts_with("#[ignore"))
        .map(|(number, _)| {
            (number, "a test that cannot run skips itself: tests/skip.rs".to_owned())
        })
        .collect()
}

fn no_marks_of_unfinished_work(path: &str, text: &str) -> Findings {
    if is_recorded(path) || path.ends_with(".lock") || path.starts_with("LICENSE") {
        return Vec::new();
    }
    let is_mark = |word: &str| MARKS.contains(&word);
    numbered(text)
        .filter(|(_, line)| line.split(|c: char| !c.is_ascii_alphanumeric()).any(is_mark))
        .map(|(number, _)| (number, "unfinished: do it, or write it into an issue".to_owned()))
        .collect()
}

fn lines_end_where_they_end(path: &str, text: &str) -> Findings {
    if is_recorded(path) {
        return Vec::new();
    }
    let mut findings: Findings = text
        .split('\n')
        .enumerate()
        .filter(|(_, line)| line.ends_with(char::is_whitespace))
        .map(|(index, _)| (index + 1, "white space at the end of the line".to_owned()))
        .collect();
    if !text.is_empty() && !text.ends_with('\n') {
        findings.push((text.lines().count(), "no newline at the end of the file".to_owned()));
    }
    findings
}

fn crates_take_the_lints_of_the_workspace(path: &str, text: &str) -> Findings {
    let is_member = path.ends_with("/Cargo.toml") && !path.starts_with("fuzz/");
    if is_member && !text.contains("[lints]\nworkspace = true\n") {
        return vec![(1, "[lints] of a crate are those of the workspace".to_owned())];
    }
    Vec::new()
}

fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

/// Whether a file was recorded or generated by a program, and is kept as it is.
fn is_recorded(path: &str) -> bool {
    path.contains("/fixtures/") || path.ends_with(".snap")
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines on which a rule finds something.
    fn lines(rule: Rule, path: &str, text: &str) -> Vec<usize> {
        rule(path, text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_long_rust_file_is_found() {
        assert_eq!(lines(rust_is_short, "a.rs", &"x\n".repeat(500)), [0; 0]);
        assert_eq!(lines(rust_is_short, "a.rs", &"x\n".repeat(501)), [501]);
        assert_eq!(lines(rust_is_short, "a.md", &"x\n".repeat(501)), [0; 0]);
    }

    #[test]
    fn a_rust_file_without_its_purpose_is_found() {
        assert_eq!(lines(rust_begins_with_its_purpose, "a.rs", "//! Why.\n"), [0; 0]);
        for bad in ["", "mod a;\n", "// Why.\n", "/// Why.\n", "\n//! Why.\n"] {
            assert_eq!(lines(rust_begins_with_its_purpose, "a.rs", bad), [1], "{bad:?}");
        }
    }

    #[test]
    fn an_empty_name_is_found_in_files_and_folders() {
        let rule = a_file_is_named_by_its_concept;
        assert_eq!(lines(rule, "crates/a/src/token_ring.rs", ""), [0; 0]);
        for bad in ["crates/a/src/utils.rs", "crates/a/tests/common/mod.rs", "docs/misc.md"] {
            assert_eq!(lines(rule, bad, ""), [1], "{bad}");
        }
    }

    #[test]
    fn permission_for_what_is_unsafe_is_found_outside_sys() {
        let bad = concat!("//! a\n#![expect(unsafe", "_code, reason = \"b\")]\n");
        assert_eq!(lines(unsafe_is_in_sys_only, "crates/measure/agent/src/a.rs", bad), [2]);
        assert_eq!(lines(unsafe_is_in_sys_only, "crates/base/sys/src/lib.rs", bad), [0; 0]);
        assert_eq!(lines(unsafe_is_in_sys_only, PLUGINS[0], bad), [0; 0]);
        let bad = concat!("#![expect(\n    unsafe", "_code,\n)]\n");
        assert_eq!(lines(unsafe_is_in_sys_only, "crates/measure/agent/src/a.rs", bad), [2]);
        let fine = concat!("#![forbid(unsafe", "_code)]\n");
        assert_eq!(lines(unsafe_is_in_sys_only, "crates/measure/agent/src/a.rs", fine), [0; 0]);
    }

    #[test]
    fn allow_and_expect_without_reason_are_found() {
        let rule = exceptions_are_expected_with_a_reason;
        for bad in ["#[allow(x)]", "  #![allow(x)]", "#[expect(x)]", "#![expect(\n  x,\n)]"] {
            assert_eq!(lines(rule, "a.rs", bad), [1], "{bad}");
        }
        for fine in ["#[expect(x, reason = \"y\")]", "#[expect(\n  x,\n  reason = \"y\"\n)]"] {
            assert_eq!(lines(rule, "a.rs", fine), [0; 0], "{fine}");
        }
        assert_eq!(lines(rule, SYS, "#![allow(x)]"), [0; 0]);
    }

    #[test]
    fn an_ignored_test_is_found() {
        assert_eq!(lines(tests_are_not_ignored, "a.rs", "#[test]\n#[ignore = \"x\"]\n"), [2]);
    }

    #[test]
    fn marks_of_unfinished_work_are_found_as_words() {
        let rule = no_marks_of_unfinished_work;
        for mark in MARKS {
            assert_eq!(lines(rule, "a.md", &format!("fine\n// {mark}: later\n")), [2], "{mark}");
            assert_eq!(lines(rule, "a.md", &format!("{mark}{mark}\n")), [0; 0], "{mark}");
        }
    }

    #[test]
    fn white_space_at_ends_is_found() {
        let rule = lines_end_where_they_end;
        assert_eq!(lines(rule, "a.md", "a\n\nb\n"), [0; 0]);
        assert_eq!(lines(rule, "a.md", "a \nb\t\nc\r\n"), [1, 2, 3]);
        assert_eq!(lines(rule, "a.md", "a\nb"), [2]);
        assert_eq!(lines(rule, "a.md", ""), [0; 0]);
        assert_eq!(lines(rule, "crates/a/tests/fixtures/b", "a "), [0; 0]);
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let rule = crates_take_the_lints_of_the_workspace;
        assert_eq!(lines(rule, "crates/a/Cargo.toml", "[package]\n"), [1]);
        assert_eq!(lines(rule, "crates/a/Cargo.toml", "[lints]\nworkspace = true\n"), [0; 0]);
    }
}
