//! Nothing public that only tests call: the name of every public item appears somewhere in the
//! product outside the item itself.
//!
//! Names are compared, not what they stand for, so a dead item whose name lives elsewhere is not
//! found.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ImplItemFn, ItemFn, ItemImpl, ItemUse, Macro, TraitItemFn, Visibility};

use crate::product::Product;

/// The public items that no product code names, one line each.
pub(crate) fn findings(product: &Product) -> Vec<String> {
    let mut reader = Reader::default();
    for file in &product.files {
        if let Ok(parsed) = syn::parse_file(&file.text) {
            reader.path = format!("crates/{}/src/{}", file.crate_name, file.name);
            reader.visit_file(&parsed);
        }
    }
    let dead = reader.public.iter().filter(|(_, name)| !reader.named.contains(name));
    dead.map(|(path, name)| format!("{path}: nothing uses {name} outside tests")).collect()
}

/// Reads files, one after the other.
#[derive(Default)]
struct Reader {
    path: String,
    /// Public items: path of the file and name.
    public: BTreeSet<(String, String)>,
    /// Names in code, without those of definitions and imports.
    named: BTreeSet<String>,
    /// Items that are being read: that they name themselves is no use of them.
    inside: Vec<String>,
}

impl Reader {
    fn within(&mut self, name: &syn::Ident, read: impl FnOnce(&mut Self)) {
        self.inside.push(name.to_string());
        read(self);
        self.inside.pop();
    }

    fn define(&mut self, visibility: &Visibility, name: &syn::Ident) {
        if matches!(visibility, Visibility::Public(_)) {
            self.public.insert((self.path.clone(), name.to_string()));
        }
    }

    fn name(&mut self, name: String) {
        if !self.inside.contains(&name) {
            self.named.insert(name);
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(name) => self.name(name.to_string()),
                TokenTree::Group(group) => self.tokens(group.stream()),
                // `{NAME}` in a format.
                TokenTree::Literal(text) => {
                    let text = text.to_string();
                    let parts = text.split('{').skip(1);
                    parts.for_each(|part| {
                        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_');
                        self.name(part[..end.unwrap_or(part.len())].to_owned());
                    });
                }
                TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_exported(&item.attrs) {
            self.define(&item.vis, &item.sig.ident);
        }
        self.within(&item.sig.ident, |reader| visit::visit_item_fn(reader, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.define(&item.vis, &item.sig.ident);
        self.within(&item.sig.ident, |reader| visit::visit_impl_item_fn(reader, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.within(&item.sig.ident, |reader| visit::visit_trait_item_fn(reader, item));
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.define(&item.vis, &item.ident);
        self.within(&item.ident, |reader| visit::visit_item_const(reader, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.define(&item.vis, &item.ident);
        self.within(&item.ident, |reader| visit::visit_impl_item_const(reader, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        if !is_exported(&item.attrs) {
            self.define(&item.vis, &item.ident);
        }
        self.within(&item.ident, |reader| visit::visit_item_static(reader, item));
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.define(&item.vis, &item.ident);
        self.within(&item.ident, |reader| visit::visit_item_struct(reader, item));
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.define(&item.vis, &item.ident);
        self.within(&item.ident, |reader| visit::visit_item_enum(reader, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.define(&item.vis, &item.ident);
        self.within(&item.ident, |reader| visit::visit_item_trait(reader, item));
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.define(&item.vis, &item.ident);
        self.within(&item.ident, |reader| visit::visit_item_type(reader, item));
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| &segment.ident),
            _ => None,
        };
        match name {
            Some(name) => self.within(name, |reader| visit::visit_item_impl(reader, item)),
            None => visit::visit_item_impl(self, item),
        }
    }

    fn visit_item_use(&mut self, _: &'ast ItemUse) {}

    fn visit_ident(&mut self, name: &'ast syn::Ident) {
        self.name(name.to_string());
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        visit::visit_path(self, &item.path);
        self.tokens(item.tokens.clone());
    }

    fn visit_attribute(&mut self, item: &'ast syn::Attribute) {
        // Names in `#[serde(with = "name")]` count; those in comments do not.
        if !item.path().is_ident("doc")
            && let syn::Meta::List(list) = &item.meta
        {
            for word in list.tokens.to_string().split(|c: char| !c.is_alphanumeric() && c != '_') {
                self.name(word.to_owned());
            }
        }
    }
}

/// Whether an item has `#[unsafe(no_mangle)]`, so that programs outside the project call it.
fn is_exported(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("unsafe"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SourceFile;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| SourceFile {
            path: (*path).to_owned(),
            text: Some((*text).to_owned()),
        };
        findings(&Product::of(&files.iter().map(file).collect::<Vec<_>>()))
    }

    #[test]
    fn what_no_product_code_names_is_found() {
        let files = [
            (
                "crates/w/a/src/lib.rs",
                "pub fn called() {}\npub fn recursive() { recursive() }\npub const SHOWN: u8 = 1;\n\
                 #[unsafe(no_mangle)]\npub extern \"C\" fn exported() {}\n\
                 pub struct Dead;\nimpl Dead { pub fn make() -> Dead { Dead } }\npub struct Live;\n\
                 #[cfg(test)]\nmod tests {\n    fn t() { recursive() }\n}\n",
            ),
            ("crates/w/a/tests/t.rs", "fn t() { a::Dead::make(); }\n"),
            (
                "crates/w/b/src/lib.rs",
                "use a::{make, Dead};\nfn b(_: a::Live) { a::called(); println!(\"{SHOWN}\"); }\n",
            ),
        ];
        let dead = ["Dead", "make", "recursive"];
        let dead =
            dead.map(|name| format!("crates/w/a/src/lib.rs: nothing uses {name} outside tests"));
        assert_eq!(found(&files), dead);
    }
}
