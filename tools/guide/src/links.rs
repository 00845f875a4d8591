//! Links between files of the repository as links between pages of the guide.

use pulldown_cmark::{Event, Options, Parser, Tag};

/// Replaces each link of a page that leads to a file outside the guide with its text, and each
/// link between `docs/` and the root by one within the guide, where all pages are in one tree.
///
/// `page` is the path of the page from the root of the repository.
pub(crate) fn within_guide(text: &str, page: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut copied = 0;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. }) = event else { continue };
        let (target, anchor) = match dest_url.split_once('#') {
            Some((target, anchor)) => (target, format!("#{anchor}")),
            None => (&*dest_url, String::new()),
        };
        let source = &text[range.clone()];
        let Some(at) = source.rfind(&format!("]({dest_url}")) else { continue };
        if target.is_empty() || target.contains(':') {
            continue;
        }
        result.push_str(&text[copied..range.start]);
        match place_in_guide(&resolved(page, target)) {
            Some(place) => {
                let path = relative(&place_in_guide(page).unwrap_or_default(), &place);
                result.push_str(&source[..at]);
                result.push_str(&format!("]({path}{anchor}"));
                result.push_str(&source[at + 2 + dest_url.len()..]);
            }
            None => result.push_str(&source[1..at]),
        }
        copied = range.end;
    }
    result.push_str(&text[copied..]);
    result
}

/// Where a file of the repository is in the guide, if it is a page or an image of it.
fn place_in_guide(path: &str) -> Option<String> {
    let is_root_page = crate::ROOT_PAGES.iter().any(|(_, file)| *file == path);
    let place = if is_root_page { path } else { path.strip_prefix("docs/")? };
    place.contains('.').then(|| place.to_owned())
}

/// A link's target as a path from the root of the repository.
fn resolved(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The way from one page of the guide to another one.
fn relative(from: &str, to: &str) -> String {
    format!("{}{to}", "../".repeat(from.matches('/').count()))
}

#[cfg(test)]
mod tests {
    use super::within_guide;

    #[test]
    fn links_between_the_root_and_docs_stay_within_the_guide() {
        let root = within_guide("[a](docs/loads/x.md#y) `[b](docs/z.md)`\n", "ARCHITECTURE.md");
        assert_eq!(root, "[a](loads/x.md#y) `[b](docs/z.md)`\n");
        let page = within_guide("| [a](../../CHANGELOG.md) |\n", "docs/loads/x.md");
        assert_eq!(page, "| [a](../CHANGELOG.md) |\n");
        let page = within_guide("[a](y.md) [b](../vm.md) [c](#d)", "docs/loads/x.md");
        assert_eq!(page, "[a](../loads/y.md) [b](../vm.md) [c](#d)");
    }

    #[test]
    fn links_that_leave_the_guide_become_their_text() {
        let page =
            within_guide("[`a`](../reference/a.csv), [b](findings/), [c](https://d)", "docs/x.md");
        assert_eq!(page, "`a`, b, [c](https://d)");
    }
}
