//! Tools on single files: an editor, a line printer's listing, sorting, searching, counting.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::trees::files;
use super::{Done, at, read, read_text, write};

/// One line in this many is moved.
const MOVED: usize = 16;
/// One line in this many is deleted.
const LEFT_OUT: usize = 50;
const PAGE_LINES: usize = 56;

/// Edits a file as with a line editor: substitutions, moved and deleted lines.
pub(super) fn edit(from: &str, to: &str) -> Done {
    write(to, edited(&read_text(from)?))
}

fn edited(text: &str) -> String {
    // Separate growable lines, as in the buffer of an editor.
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in &mut lines {
        if line.contains("the") {
            *line = line.replace("the", "THE");
        }
        if let Some(stem) = line.strip_suffix("ing.") {
            *line = format!("<{stem}>.");
        }
    }
    for at in (MOVED..lines.len()).step_by(MOVED) {
        lines.swap(at, at - MOVED / 2);
    }
    let mut number = 0;
    lines.retain(|_| {
        number += 1;
        number % LEFT_OUT != 0
    });
    lines.join("\n") + "\n"
}

/// A listing for a line printer: pages with headings, lines with numbers.
pub(super) fn print(from: &str, to: &str) -> Done {
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

pub(super) fn sort(from: &str, to: &str) -> Done {
    let bytes = read(from)?;
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    write(to, lines.concat())
}

pub(super) fn search(text: &str, paths: &[String], out: &mut dyn Write) -> Done {
    for path in paths {
        for file in files(Path::new(path))? {
            let bytes = fs::read(&file).map_err(at("read", &file))?;
            let count =
                String::from_utf8_lossy(&bytes).lines().filter(|line| line.contains(text)).count();
            let _ = writeln!(out, "{}:{count}", file.display());
        }
    }
    Ok(())
}

pub(super) fn count(path: &str, out: &mut dyn Write) -> Done {
    let bytes = read(path)?;
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    let words = bytes.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
    let _ = writeln!(out, "{lines:>8} {words:>8} {:>8} {path}", bytes.len());
    Ok(())
}

pub(super) fn checksum(path: &str, out: &mut dyn Write) -> Done {
    let hash = blake3::hash(&read(path)?).to_hex();
    let _ = writeln!(out, "{hash}  {path}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_changed_moved_and_left_out() {
        assert_eq!(edited("the cat\npaging.\n"), "THE cat\n<pag>.\n");
        let many: String = (0..100).map(|number| format!("{number}\n")).collect();
        let edited = edited(&many);
        assert_eq!(edited.lines().count(), 98);
        assert_eq!(edited.lines().nth(8), Some("16"));
    }

    #[test]
    fn pages_have_headings_and_lines_numbers() {
        let listing = listing(&"x\n".repeat(PAGE_LINES + 1));
        assert_eq!(listing.matches('\x0c').count(), 2);
        assert!(listing.contains("page 2\n\n    57  x\n"), "{listing}");
    }
}
