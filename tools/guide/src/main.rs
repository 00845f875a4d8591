//! Builds the guide: the pages of `docs/` and four of the root as HTML in `target/guide`.
//!
//! It is a tool of the repository and not part of the product, so mdBook's licence (MPL-2.0)
//! does not touch what is shipped. `make guide` calls it, and needs no network.
#![expect(clippy::print_stdout, reason = "a program of the command line")]

mod links;

use std::path::{Path, PathBuf};

use mdbook_driver::MDBook;
use mdbook_driver::book::{Book, BookItem, Chapter};
use mdbook_driver::errors::{Error, Result};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

/// Pages of the root that are chapters too, at the end of the guide: name and file.
const ROOT_PAGES: [(&str, &str); 4] = [
    ("Security", "SECURITY.md"),
    ("Contributing", "CONTRIBUTING.md"),
    ("Architecture", "ARCHITECTURE.md"),
    ("Changes", "CHANGELOG.md"),
];

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let chapters = build(&root)?;
    println!("{chapters} pages in target/guide/index.html");
    Ok(())
}

/// Builds the guide of the repository at `root` and returns its number of pages.
fn build(root: &Path) -> Result<usize> {
    let mut guide = MDBook::load(root.join("docs"))?;
    guide.with_preprocessor(RootPages);
    guide.build()?;
    let has_file = |item: &&BookItem| matches!(item, BookItem::Chapter(chapter) if !chapter.is_draft_chapter());
    Ok(guide.iter().filter(has_file).count() + ROOT_PAGES.len())
}

/// Adds the pages of the root, and makes the links of all pages those of the guide.
struct RootPages;

impl Preprocessor for RootPages {
    fn name(&self) -> &'static str {
        "root-pages"
    }

    fn run(&self, context: &PreprocessorContext, mut book: Book) -> Result<Book> {
        book.for_each_chapter_mut(|chapter| {
            if let Some(path) = &chapter.source_path {
                let page = format!("docs/{}", path.display());
                chapter.content = links::within_guide(&chapter.content, &page);
            }
        });
        for (name, file) in ROOT_PAGES {
            let path = context.root.join("..").join(file);
            let text = std::fs::read_to_string(&path)
                .map_err(|error| Error::msg(format!("{}: {error}", path.display())))?;
            let text = links::within_guide(&text, file);
            book.push_item(Chapter::new(name, text, PathBuf::from(file), Vec::new()));
        }
        Ok(book)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_can_be_built_and_its_links_lead_to_its_files() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        assert!(build(&root).unwrap() > ROOT_PAGES.len());
        let guide = root.join("target/guide");
        assert!(guide.join("ARCHITECTURE.html").exists());
        let mut dead = Vec::new();
        for page in pages(&guide) {
            let text = std::fs::read_to_string(&page).unwrap();
            for target in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let file = target.split('#').next().unwrap_or_default();
                if !file.contains(':') && !page.parent().unwrap().join(file).exists() {
                    dead.push(format!("{}: {target}", page.display()));
                }
            }
        }
        assert_eq!(dead, [""; 0]);
    }

    fn pages(folder: &Path) -> Vec<PathBuf> {
        let mut pages = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pages.extend(self::pages(&path));
            } else if path.extension().is_some_and(|ending| ending == "html") {
                pages.push(path);
            }
        }
        pages
    }
}
