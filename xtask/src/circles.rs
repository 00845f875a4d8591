//! No circle between files: files that import each other can only be understood and changed
//! together.
//!
//! A file imports another one if it names something of it, by a `use` or by a path in its code;
//! what a module only passes on (`pub use`) belongs to the file that defines it. That a module's
//! file uses the files of its folder does not count, since they are its inside; nor do tests.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{ItemUse, UseTree};

use crate::product::Product;

/// A path in Rust code, segment by segment.
type Segments = Vec<String>;

/// The files of a crate by their modules: the root is empty.
type Modules = BTreeMap<Segments, Module>;

/// What a file imports.
#[derive(Default)]
struct Module {
    file: String,
    /// Paths that begin with `crate`, `self`, `super` or a module of this file.
    paths: BTreeSet<Segments>,
    /// What its `use` items bring in: name and path.
    brought: BTreeMap<String, Segments>,
}

/// The circles in all crates, one line each.
pub(crate) fn findings(product: &Product) -> Vec<String> {
    let mut crates: BTreeMap<&str, Modules> = BTreeMap::new();
    for file in &product.files {
        let mut module = Module { file: file.name.clone(), ..Module::default() };
        // What is not Rust has no imports: the compiler has more to say about it.
        if let Ok(parsed) = syn::parse_file(&file.text) {
            module.visit_file(&parsed);
        }
        crates.entry(&file.crate_name).or_default().insert(module_path(&file.name), module);
    }
    crates.iter().flat_map(|(name, modules)| circles(name, modules)).collect()
}

/// `knee/fit.rs` is the module `knee::fit`, `knee/mod.rs` is `knee`.
fn module_path(name: &str) -> Segments {
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    match stem.strip_suffix("/mod").unwrap_or(stem) {
        "lib" | "main" => Segments::new(),
        path => path.split('/').map(str::to_owned).collect(),
    }
}

fn circles(root: &str, modules: &Modules) -> Vec<String> {
    let imports: BTreeMap<&Segments, BTreeMap<&Segments, &str>> =
        modules.iter().map(|(path, module)| (path, imports(modules, path, module))).collect();
    let reached: BTreeMap<&Segments, BTreeSet<&Segments>> =
        imports.keys().map(|from| (*from, reached(from, &imports))).collect();
    let mut seen: BTreeSet<&Segments> = BTreeSet::new();
    let mut findings = Vec::new();
    for (from, all) in &reached {
        if !all.contains(from) || seen.contains(from) {
            continue;
        }
        let circle: Vec<&Segments> =
            all.iter().copied().filter(|other| reached[other].contains(from)).collect();
        seen.extend(&circle);
        let ties = circle.iter().flat_map(|file| {
            let others = imports[file].iter().filter(|(other, _)| circle.contains(other));
            others.map(|(other, name)| {
                format!("{} takes {name} of {}", modules[*file].file, modules[*other].file)
            })
        });
        let ties: Vec<String> = ties.collect();
        findings.push(format!("crates/{root}/src: files import each other: {}", ties.join("; ")));
    }
    findings
}

/// All files that a file imports, and those that these import.
fn reached<'a>(
    from: &Segments,
    imports: &BTreeMap<&'a Segments, BTreeMap<&'a Segments, &str>>,
) -> BTreeSet<&'a Segments> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&Segments> = imports[from].keys().copied().collect();
    while let Some(next) = left.pop() {
        if let Some((next, further)) = imports.get_key_value(next)
            && reached.insert(*next)
        {
            left.extend(further.keys().copied());
        }
    }
    reached
}

/// The files that a module imports, each with a name that it takes of it.
fn imports<'a>(
    modules: &'a Modules,
    path: &Segments,
    module: &'a Module,
) -> BTreeMap<&'a Segments, &'a str> {
    let named = module.paths.iter().chain(module.brought.values());
    named
        .filter_map(|segments| Some((defined(modules, path, segments, 0)?, segments.last()?)))
        .filter(|(of, _)| !of.starts_with(path))
        .map(|(of, name)| (of, name.as_str()))
        .collect()
}

/// Most modules that pass a name on.
const MOST_PASSES: usize = 8;

/// The module that defines what a path in another one names.
fn defined<'a>(
    modules: &'a Modules,
    from: &[String],
    path: &[String],
    passes: usize,
) -> Option<&'a Segments> {
    let mut at: Segments = from.to_vec();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => (at, rest) = (Segments::new(), &rest[1..]),
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|segment| segment == "super") {
                at.pop();
                rest = &rest[1..];
            }
        }
        first => {
            let child = [from, &[first.to_owned()]].concat();
            modules.get(&child)?;
        }
    }
    while let Some(name) = rest.first() {
        let child = [&at[..], std::slice::from_ref(name)].concat();
        if !modules.contains_key(&child) {
            break;
        }
        (at, rest) = (child, &rest[1..]);
    }
    let (at, module) = modules.get_key_value(&at)?;
    let brought = rest.first().and_then(|name| module.brought.get(name));
    let passed = brought.filter(|_| passes < MOST_PASSES);
    passed.and_then(|path| defined(modules, at, path, passes + 1)).or(Some(at))
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.bring(&item.tree, &mut Segments::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string());
        if path.segments.len() > 1 {
            self.paths.insert(segments.collect());
        }
        visit::visit_path(self, path);
    }
}

impl Module {
    /// Takes the names of a `use`.
    fn bring(&mut self, tree: &UseTree, path: &mut Segments) {
        let depth = path.len();
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.bring(&part.tree, path);
            }
            UseTree::Name(name) => self.bring_name(&name.ident.to_string(), None, path),
            UseTree::Rename(name) => {
                self.bring_name(&name.ident.to_string(), Some(name.rename.to_string()), path);
            }
            UseTree::Glob(_) => {
                self.paths.insert(path.clone());
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.bring(item, &mut path.clone()));
            }
        }
        path.truncate(depth);
    }

    fn bring_name(&mut self, name: &str, rename: Option<String>, path: &Segments) {
        let (known, full) = match name {
            "self" => (path.last().cloned().unwrap_or_default(), path.clone()),
            _ => (name.to_owned(), [&path[..], &[name.to_owned()]].concat()),
        };
        self.brought.insert(rename.unwrap_or(known), full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SourceFile;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(name, text): &(&str, &str)| SourceFile {
            path: format!("crates/w/one/src/{name}"),
            text: Some((*text).to_owned()),
        };
        findings(&Product::of(&files.iter().map(file).collect::<Vec<_>>()))
    }

    #[test]
    fn two_files_that_import_each_other_are_a_circle() {
        let files = [
            ("lib.rs", "mod one;\nmod two;\npub use one::One;"),
            ("one.rs", "use crate::two::Two;\npub struct One(Two);"),
            ("two.rs", "pub struct Two;\nfn one() -> crate::One { crate::One(Two) }"),
        ];
        assert_eq!(
            found(&files),
            [
                "crates/w/one/src: files import each other: one.rs takes Two of two.rs; two.rs takes \
              One of one.rs"
            ]
        );
    }

    #[test]
    fn what_a_module_passes_on_is_its_definers_and_tests_do_not_count() {
        let files = [
            ("lib.rs", "mod one;\nmod two;"),
            ("one.rs", "pub mod inner;\nmod outer;\npub use inner::Inner;"),
            ("one/inner.rs", "pub struct Inner;\n#[cfg(test)]\nmod tests;"),
            ("one/inner/tests.rs", "use crate::two::Two;"),
            ("one/outer.rs", "use super::Inner;\nfn outer(_: Inner) {}"),
            (
                "two.rs",
                "use crate::one::Inner;\npub struct Two(Inner);\n#[cfg(test)]\nmod tests { use crate::one::outer; }",
            ),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn a_longer_circle_through_paths_and_globs_is_found() {
        let files = [
            ("main.rs", "mod a; mod b; mod c;"),
            ("a.rs", "pub fn a() { super::b::b() }"),
            ("b.rs", "use crate::c::*;\npub fn b() { c() }"),
            ("c.rs", "pub fn c() { crate::a::a() }"),
        ];
        assert_eq!(found(&files).len(), 1, "{:?}", found(&files));
    }
}
