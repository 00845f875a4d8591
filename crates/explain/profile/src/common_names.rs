//! Names that functions have in common in two builds of a program.

use std::collections::{BTreeMap, BTreeSet};

/// What compilers add to the name of a function of which they make several, or cut off a part.
const ADDED: [&str; 7] = ["cold", "constprop", "isra", "llvm", "localalias", "lto_priv", "part"];

/// The names of files that were renamed between two programs, such as `old` and `new`: of those that only
/// one of them has, pairs with functions in common, the most first. A file that only one program has may
/// also be there by chance, as the loader or a driver of which the other has no sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RenamedFiles(Vec<[String; 2]>);

impl RenamedFiles {
    /// Finds the files from the names of all functions of both, each as often as it occurs.
    pub(crate) fn of<'a>(
        first: impl Iterator<Item = &'a str>,
        second: impl Iterator<Item = &'a str>,
    ) -> Self {
        let (first, second) = (Files::of(first), Files::of(second));
        let mut pairs = Vec::new();
        for (old, of_old) in first.without(&second) {
            for (new, of_new) in second.without(&first) {
                let common = of_old.functions.intersection(&of_new.functions).count();
                // A stripped file has a single name for all functions, which any such file has.
                let score = (common, of_old.occurrences.min(of_new.occurrences));
                if common > 0 {
                    pairs.push((score, [old, new]));
                }
            }
        }
        pairs.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let mut renamed: Vec<[String; 2]> = Vec::new();
        for (_, [old, new]) in pairs {
            if !renamed.iter().any(|it| it[0] == old || it[1] == new) {
                renamed.push([old.to_owned(), new.to_owned()]);
            }
        }
        Self(renamed)
    }

    /// A function's name with both names of its file, if that was renamed.
    pub(crate) fn common_name(&self, name: &str) -> String {
        let Some((function, file)) = parted(name) else { return name.to_owned() };
        match self.0.iter().find(|pair| pair.iter().any(|it| it == file)) {
            Some(pair) => format!("{function}[{}]", pair.join("/")),
            None => name.to_owned(),
        }
    }
}

/// The functions of each file by name.
#[derive(Default)]
struct Files<'a>(BTreeMap<&'a str, File<'a>>);

#[derive(Default)]
struct File<'a> {
    functions: BTreeSet<&'a str>,
    /// How often any function of it occurs.
    occurrences: usize,
}

impl<'a> Files<'a> {
    fn of(names: impl Iterator<Item = &'a str>) -> Self {
        let mut found = Self::default();
        for (function, file) in names.filter_map(parted) {
            let file = found.0.entry(file).or_default();
            file.functions.insert(function);
            file.occurrences += 1;
        }
        found
    }

    /// The files that others do not have.
    fn without(&self, others: &Self) -> impl Iterator<Item = (&'a str, &File<'a>)> {
        self.0.iter().map(|(name, file)| (*name, file)).filter(|it| !others.0.contains_key(it.0))
    }
}

/// The name of a function and that of its file.
fn parted(name: &str) -> Option<(&str, &str)> {
    name.strip_suffix(']')?.rsplit_once('[')
}

/// The file of a function, as its name has it.
pub(crate) fn file(name: &str) -> Option<&str> {
    parted(name).map(|(_, file)| file)
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
            RenamedFiles::of(first.iter().copied(), second.iter().copied())
        };
        let renamed = of(&["work [old]", "f [sd]"], &["work [new]", "f [sd]"]);
        assert_eq!(renamed.common_name("work [new]"), "work [old/new]");
        assert_eq!(renamed.common_name("[old]"), "[old/new]");
        assert_eq!(renamed.common_name("f [sd]"), "f [sd]");
        let first = ["main [old]", "work [old]", "init [loader]"];
        let rare = of(&first, &["init [driver]", "main [new]", "work [new]", "more [new]"]);
        assert_eq!(rare.common_name("work [new]"), "work [old/new]", "others occur by chance");
        assert_eq!(rare.common_name("main [old]"), "main [old/new]");
        let library = of(&["main [old]", "f [a.so]", "g [a.so]"], &["f [b.so]", "main [new]"]);
        assert_eq!(library.common_name("f [b.so]"), "f [a.so/b.so]", "two files were renamed");
        assert_eq!(library.common_name("main [new]"), "main [old/new]");
        let stripped = of(&["[old]", "[loader]", "[old]"], &["[a]", "[new]", "[new]"]);
        assert_eq!(stripped.common_name("[new]"), "[old/new]", "what occurs most often");
        let others = of(&["work [old]"], &["rest [new]"]);
        assert_eq!(others.common_name("rest [new]"), "rest [new]", "nothing in common");
    }
}
