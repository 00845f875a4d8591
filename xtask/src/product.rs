//! The product's own Rust: the sources of the crates without what only tests compile.

use std::collections::BTreeMap;

use crate::tree::SourceFile;

/// The sources of all crates.
pub(crate) struct Product {
    /// The files, without the lines that only tests compile.
    pub(crate) files: Vec<ProductFile>,
    /// Lines that only tests compile, in `src`, `tests` and `benches`, by crate.
    pub(crate) test_lines: BTreeMap<String, usize>,
}

/// A source file of a crate.
pub(crate) struct ProductFile {
    /// The crate's folder below `crates`: its wing and its name.
    pub(crate) crate_name: String,
    /// Path below the crate's `src`.
    pub(crate) name: String,
    /// Its text without tests.
    pub(crate) text: String,
}

impl Product {
    /// Finds the sources of the crates among the files of the project.
    pub(crate) fn of(files: &[SourceFile]) -> Self {
        let mut product = Self { files: Vec::new(), test_lines: BTreeMap::new() };
        let mut test_modules: Vec<String> = Vec::new();
        for file in files {
            let Some((crate_name, name, text)) = rust_of_crate(file) else { continue };
            let test_lines = product.test_lines.entry(crate_name.to_owned()).or_default();
            let Some(name) = name.strip_prefix("src/") else {
                *test_lines += text.lines().count();
                continue;
            };
            let Split { product: text, tests, modules } = split(text);
            *test_lines += tests;
            let folder = |module: &Module| match module {
                Module::Named(module) => format!("{crate_name}/{}{module}", children(name)),
                Module::At(path) => format!("{crate_name}/{}{path}", parent(name)),
            };
            test_modules.extend(modules.iter().map(folder));
            let (crate_name, name) = (crate_name.to_owned(), name.to_owned());
            product.files.push(ProductFile { crate_name, name, text });
        }
        let (files, tests) = product.files.into_iter().partition(|file| {
            let path = format!("{}/{}", file.crate_name, file.name);
            !test_modules.iter().any(|module| {
                path.strip_prefix(module.as_str())
                    .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            })
        });
        product.files = files;
        let tests: Vec<ProductFile> = tests;
        for file in tests {
            *product.test_lines.entry(file.crate_name).or_default() += file.text.lines().count();
        }
        product
    }
}

/// Wing and name of the crate, path in it and text of a Rust file.
fn rust_of_crate(file: &SourceFile) -> Option<(&str, &str, &str)> {
    let path = file.path.strip_prefix("crates/")?;
    let (end, _) = path.match_indices('/').nth(1)?;
    let (crate_name, name) = (&path[..end], &path[end + 1..]);
    let text = file.text.as_deref().filter(|_| name.ends_with(".rs"))?;
    Some((crate_name, name, text))
}

/// The folder of a file, with `/` at its end.
fn parent(name: &str) -> &str {
    name.rfind('/').map_or("", |at| &name[..=at])
}

/// The folder with the modules of a file: `knee/fit.rs` has them in `knee/fit/`.
fn children(name: &str) -> String {
    match name.strip_suffix(".rs").unwrap_or(name) {
        "lib" | "main" => String::new(),
        stem => format!("{}/", stem.strip_suffix("/mod").unwrap_or(stem)),
    }
}

/// A module that only tests compile, in a file of its own.
enum Module {
    Named(String),
    At(String),
}

/// A text without its tests.
struct Split {
    product: String,
    /// Lines of tests that were taken out.
    tests: usize,
    modules: Vec<Module>,
}

/// Takes out items under `#[cfg(test)]`. rustfmt closes an item at the indentation at which it
/// begins.
fn split(text: &str) -> Split {
    let mut found = Split { product: String::new(), tests: 0, modules: Vec::new() };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if line.trim_start() != "#[cfg(test)]" {
            found.product += line;
            found.product.push('\n');
            continue;
        }
        let mut path = None;
        found.tests += 1;
        for line in lines.by_ref() {
            found.tests += 1;
            let code = line.trim();
            if let Some(file) = code.strip_prefix("#[path = \"") {
                path = Some(file.trim_end_matches("\"]").trim_end_matches(".rs").to_owned());
            }
            let module = code.strip_prefix("mod ").and_then(|code| code.strip_suffix(';'));
            found.modules.extend(module.map(|name| {
                path.take().map_or_else(|| Module::Named(name.to_owned()), Module::At)
            }));
            let is_outermost = line.strip_prefix(indent).is_some_and(|rest| {
                rest.starts_with('}') || (!rest.starts_with(char::is_whitespace) && ends(rest))
            });
            if is_outermost {
                break;
            }
        }
    }
    found
}

/// Whether an item ends in its first line.
fn ends(code: &str) -> bool {
    !code.starts_with('#') && !code.starts_with('/') && (code.ends_with(';') || code.ends_with('}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: Some(text.to_owned()) }
    }

    #[test]
    fn tests_are_no_product() {
        let files = [
            file("crates/w/a/src/lib.rs", "mod b;\n#[cfg(test)]\nmod oracle;\nfn a() {}\n"),
            file("crates/w/a/src/oracle.rs", "fn naive() {}\n"),
            file("crates/w/a/src/oracle/deep.rs", "fn naive() {}\n"),
            file(
                "crates/w/a/src/b.rs",
                "struct B;\nimpl B {\n    #[cfg(test)]\n    fn test() {\n        1;\n    }\n}\n\
                 #[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;\n#[cfg(test)]\nuse c::{\n    D,\n};\nfn e() {}\n",
            ),
            file("crates/w/a/src/b_tests.rs", "x\n"),
            file("crates/w/a/tests/t.rs", "x\n"),
            file("xtask/src/main.rs", "x\n"),
        ];
        let product = Product::of(&files);
        let texts: Vec<(&str, &str)> =
            product.files.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect();
        assert_eq!(
            texts,
            [("lib.rs", "mod b;\nfn a() {}\n"), ("b.rs", "struct B;\nimpl B {\n}\nfn e() {}\n"),]
        );
        assert_eq!(product.test_lines["w/a"], 2 + 1 + 1 + 4 + 3 + 4 + 1 + 1);
    }
}
