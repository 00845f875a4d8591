//! `print`: a listing for a line printer: pages with headings, lines with numbers.

use std::io::Write;

use super::{Tool, ToolError, exactly, read_text, write};

pub(super) const TOOL: Tool = Tool { name: "print", arguments: "FILE LISTING", run };

/// Lines of a page below its heading.
const PAGE_LINES: usize = 56;

fn run(arguments: &[String], _: &mut dyn Write) -> Result<(), ToolError> {
    let [from, to] = exactly(arguments)?;
    write(to, listing(&read_text(from)?))
}

fn listing(text: &str) -> String {
    let mut listing = String::with_capacity(text.len() * 5 / 4);
    for (number, line) in text.lines().enumerate() {
        if number % PAGE_LINES == 0 {
            let page = number / PAGE_LINES + 1;
            listing.push_str(&format!("\x0c{:>72}\n\n", format!("page {page}")));
        }
        listing.push_str(&format!("{:>6}  {line}\n", number + 1));
    }
    listing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_headings_and_lines_numbers() {
        let listing = listing(&"x\n".repeat(PAGE_LINES + 1));
        assert_eq!(listing.matches('\x0c').count(), 2);
        assert!(listing.contains("page 2\n\n    57  x\n"), "{listing}");
    }
}
