//! `edit`: a line editor's work on a file: substitutions, lines moved, lines left out.

use std::io::Write;

use super::{Tool, ToolError, exactly, read_text, write};

pub(super) const TOOL: Tool = Tool { name: "edit", arguments: "FILE RESULT", run };

/// Every line of this many is moved to where the cursor was before.
const MOVED: usize = 16;
/// Every line of this many is left out.
const LEFT_OUT: usize = 50;

fn run(arguments: &[String], _: &mut dyn Write) -> Result<(), ToolError> {
    let [from, to] = exactly(arguments)?;
    write(to, edited(&read_text(from)?))
}

fn edited(text: &str) -> String {
    // The buffer of an editor: lines of their own, so that one can grow without the others.
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
}
