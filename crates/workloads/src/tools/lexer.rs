//! The words of the toy language.

use std::collections::BTreeSet;

/// A word of a source, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Number(i32),
    Name(String),
    /// A sign, or a word that the language itself uses.
    Sign(String),
}

const WORDS: [&str; 5] = ["int", "void", "if", "while", "return"];

/// Cuts a source into words with their lines, from 1.
pub(super) fn tokens(source: &str) -> Result<Vec<(usize, Token)>, String> {
    let words: BTreeSet<&str> = WORDS.into();
    let mut found = Vec::new();
    for (line, text) in source.lines().enumerate() {
        let line = line + 1;
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let is_part = |part: char| part.is_ascii_alphanumeric() || part == '_';
            let length = match first {
                first if is_part(first) => {
                    rest.find(|part: char| !is_part(part)).unwrap_or(rest.len())
                }
                '(' | ')' | '{' | '}' | ';' | ',' | '=' | '+' | '-' | '*' | '/' | '<' | '>' => 1,
                other => return Err(format!("line {line}: unexpected {other:?}")),
            };
            let (word, behind) = rest.split_at(length);
            let token = match first {
                '0'..='9' => Token::Number(
                    word.parse().map_err(|_| format!("line {line}: {word:?} is not a number"))?,
                ),
                first if is_part(first) && !words.contains(word) => Token::Name(word.to_owned()),
                _ => Token::Sign(word.to_owned()),
            };
            found.push((line, token));
            rest = behind.trim_start();
        }
    }
    Ok(found)
}
