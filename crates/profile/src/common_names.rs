//! Names that functions have in common in two builds of a program.

use std::collections::BTreeSet;

/// What compilers add to the name of a function of which they make several, or cut off a part.
const ADDED: [&str; 7] = ["cold", "constprop", "isra", "llvm", "localalias", "lto_priv", "part"];

/// The names of the files that two programs do not have in common, if each has one: a program that was
/// renamed, such as `old` and `new`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RenamedFile(Option<[String; 2]>);

impl RenamedFile {
    /// Finds the file from the names of all functions of both.
    pub(crate) fn of<'a>(
        first: impl Iterator<Item = &'a str>,
        second: impl Iterator<Item = &'a str>,
    ) -> Self {
        let first: BTreeSet<&str> = first.filter_map(|name| Some(parted(name)?.1)).collect();
        let second: BTreeSet<&str> = second.filter_map(|name| Some(parted(name)?.1)).collect();
        let mut only = [first.difference(&second), second.difference(&first)];
        let found = only.each_mut().map(|files| files.next().map(|file| (*file).to_owned()));
        let is_all = only.iter_mut().all(|rest| rest.next().is_none());
        match found {
            [Some(first), Some(second)] if is_all => Self(Some([first, second])),
            _ => Self(None),
        }
    }

    /// A function's name with both names of the file, if it is of the file.
    pub(crate) fn common_name(&self, name: &str) -> String {
        match (parted(name), &self.0) {
            (Some((function, file)), Some(both)) if both.iter().any(|it| it == file) => {
                format!("{function}[{}]", both.join("/"))
            }
            _ => name.to_owned(),
        }
    }
}

/// The name of a function and that of its file.
fn parted(name: &str) -> Option<(&str, &str)> {
    name.strip_suffix(']')?.rsplit_once('[')
}

/// The name of a function in the source, which all parts have that a compiler makes of it: `parse [sort]`
/// of `parse.part.0 [sort]` and `parse.cold [sort]`.
pub(crate) fn source_name(name: &str) -> String {
    let (function, file) = match name.rfind(" [") {
        Some(at) if !name[at..].starts_with(" [clone") => name.split_at(at),
        _ => (name, ""),
    };
    let function = function.split(" [clone").next().unwrap_or(function);
    let mut kept = function;
    while let Some(before) = without_last_part(kept) {
        kept = before;
    }
    format!("{kept}{file}")
}

/// A name without what was added last: a word, or a word and a number.
fn without_last_part(name: &str) -> Option<&str> {
    let (before, last) = name.rsplit_once('.')?;
    let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let (before, word) = if is_number { before.rsplit_once('.')? } else { (before, last) };
    (ADDED.contains(&word) && !before.is_empty()).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_compilers_make_have_the_name_of_the_source() {
        for (name, expected) in [
            ("parse [sort]", "parse [sort]"),
            ("parse.cold [sort]", "parse [sort]"),
            ("parse.part.0.isra.12 [sort]", "parse [sort]"),
            ("parse.constprop.0.cold [sort]", "parse [sort]"),
            ("f.llvm.123456 [a.b]", "f [a.b]"),
            ("std::f [clone .cold] [a]", "std::f [a]"),
            ("copy_page.isra.0", "copy_page"),
            ("version.1 [sort]", "version.1 [sort]"),
            ("[libc.so.6]", "[libc.so.6]"),
            ("[call stack cut off]", "[call stack cut off]"),
            (".cold", ".cold"),
        ] {
            assert_eq!(source_name(name), expected);
        }
    }

    #[test]
    fn a_program_that_was_renamed_has_the_same_functions() {
        let of = |first: &[&str], second: &[&str]| {
            RenamedFile::of(first.iter().copied(), second.iter().copied())
        };
        let renamed = of(&["work [old]", "f [sd]"], &["work [new]", "f [sd]"]);
        assert_eq!(renamed.common_name("work [new]"), "work [old/new]");
        assert_eq!(renamed.common_name("[old]"), "[old/new]");
        assert_eq!(renamed.common_name("f [sd]"), "f [sd]");
        let two = of(&["work [old]"], &["work [new]", "g [other]"]);
        assert_eq!(two.common_name("work [new]"), "work [new]", "two files are new");
    }
}
