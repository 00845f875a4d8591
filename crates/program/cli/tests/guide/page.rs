//! What a page has executed: the blocks of its Markdown that matter.

/// A page with what is executed of it.
pub(crate) struct Page {
    pub(crate) path: String,
    pub(crate) blocks: Vec<Block>,
    /// Place and reason of the blocks that are not executed.
    pub(crate) not_run: Vec<String>,
}

/// A block of a page.
pub(crate) enum Block {
    /// A file that the reader writes: a block with its path after the language.
    File { path: String, text: String },
    /// Commands with their output.
    Console(Vec<Step>),
}

/// A command and what it prints.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Its line in the page, from 1.
    pub(crate) line: usize,
    pub(crate) command: String,
    /// Lines of output with their numbers in the page.
    pub(crate) expected: Vec<(usize, String)>,
}

impl Page {
    /// Reads a page.
    ///
    /// # Errors
    /// The place of a block that is not run without a reason, of a console block that does not
    /// begin with a command, or of a block without an end.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self, String> {
        let mut page = Self { path: path.to_owned(), blocks: Vec::new(), not_run: Vec::new() };
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        while let Some((number, line)) = lines.next() {
            let Some(info) = line.strip_prefix("```") else { continue };
            let mut body = Vec::new();
            loop {
                match lines.next() {
                    Some((_, "```")) => break,
                    Some((number, line)) => body.push((number, line.to_owned())),
                    None => return Err(format!("{path}:{number}: this block has no end")),
                }
            }
            let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
            match (language, rest.trim()) {
                ("console", "") => page.blocks.push(Block::Console(steps(path, body)?)),
                ("console", rest) => {
                    let reason = rest.strip_prefix("not-run").map(str::trim).unwrap_or_default();
                    if reason.is_empty() {
                        return Err(format!("{path}:{number}: write ```console not-run REASON"));
                    }
                    page.not_run.push(format!("{path}:{number}: {reason}"));
                }
                (_, "") => {}
                (_, file) => {
                    let text = body.iter().map(|(_, line)| format!("{line}\n")).collect();
                    page.blocks.push(Block::File { path: file.to_owned(), text });
                }
            }
        }
        Ok(page)
    }

    /// All commands of the page.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Console(steps) => steps.as_slice(),
            Block::File { .. } => &[],
        })
    }
}

/// Divides a console block into its commands. A command continues after `\` at the end of a line,
/// and up to `EOF` if it has a here-document.
fn steps(path: &str, body: Vec<(usize, String)>) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = body.into_iter();
    while let Some((number, line)) = lines.next() {
        if let Some(command) = line.strip_prefix("$ ") {
            let mut command = command.to_owned();
            let is_document = command.contains("<<'EOF'") || command.contains("<<EOF");
            while command.ends_with('\\') || (is_document && !command.ends_with("\nEOF")) {
                let Some((_, line)) = lines.next() else {
                    return Err(format!("{path}:{number}: this command has no end"));
                };
                command.push('\n');
                command.push_str(line.strip_prefix("> ").unwrap_or(&line));
            }
            steps.push(Step { line: number, command, expected: Vec::new() });
        } else if let Some(step) = steps.last_mut() {
            step.expected.push((number, line));
        } else {
            return Err(format!("{path}:{number}: a console block begins with `$ `"));
        }
    }
    Ok(steps)
}

#[test]
fn commands_have_their_lines_and_output() {
    let text = "# A\n\n```console\n$ a \\\n>   b\nc\n\nd\n$ cat > e <<'EOF'\nf\nEOF\n$ g\n```\n";
    let page = Page::parse("a.md", text).unwrap();
    let step = |line, command: &str, expected: &[(usize, &str)]| Step {
        line,
        command: command.to_owned(),
        expected: expected.iter().map(|(line, text)| (*line, (*text).to_owned())).collect(),
    };
    let expected = [
        step(4, "a \\\n  b", &[(6, "c"), (7, ""), (8, "d")]),
        step(9, "cat > e <<'EOF'\nf\nEOF", &[]),
        step(12, "g", &[]),
    ];
    assert!(page.steps().eq(&expected), "{:#?}", page.steps().collect::<Vec<_>>());
}

#[test]
fn blocks_that_are_not_run_have_a_reason() {
    let page = Page::parse("a.md", "```console not-run needs root\n$ a\n```\n").unwrap();
    assert_eq!((page.steps().count(), page.not_run), (0, vec!["a.md:1: needs root".to_owned()]));
    for bad in
        ["```console not-run\n```\n", "```console once\n```\n", "```console\na\n```\n", "```\n"]
    {
        assert!(Page::parse("a.md", bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_block_with_a_path_is_a_file() {
    let page = Page::parse("a.md", "```toml b.toml\nx = 1\n```\n```toml\ny = 2\n```\n").unwrap();
    let [Block::File { path, text }] = &page.blocks[..] else { panic!("one file") };
    assert_eq!((path.as_str(), text.as_str()), ("b.toml", "x = 1\n"));
}
