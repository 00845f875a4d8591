//! Files that the commands read, made of what stands in the run files.

use render::Block;

/// Files by their names, each with its text.
#[derive(Debug, Default)]
pub(super) struct Files(Vec<(String, String)>);

impl Files {
    /// The name of a file with this text: `stem.toml`, or with a number where another text has that
    /// name.
    pub(super) fn add(&mut self, stem: &str, text: String) -> String {
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let stem: String = stem.chars().map(plain).collect();
        let mut name = format!("{stem}.toml");
        for number in 2.. {
            match self.0.iter().find(|(known, _)| *known == name) {
                None => break,
                Some((_, known)) if *known == text => return name,
                Some(_) => name = format!("{stem}-{number}.toml"),
            }
        }
        self.0.push((name.clone(), text));
        name
    }

    /// A file whose name is given.
    pub(super) fn named(&mut self, name: &str, text: &str) {
        if !self.0.iter().any(|(known, _)| known == name) {
            self.0.push((name.to_owned(), text.to_owned()));
        }
    }

    /// The files as a report shows them.
    pub(super) fn into_blocks(self) -> impl Iterator<Item = Block> {
        self.0.into_iter().map(|(name, text)| Block::Folded(name, text))
    }
}
