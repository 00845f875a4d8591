//! Untrusted text, shown or pasted: it must not act on a terminal or in a shell.

use std::borrow::Cow;

/// Replaces characters that would act on a terminal.
const INSTEAD: char = '\u{fffd}';

/// Replaces control characters and changes of text direction.
pub fn shown(text: &str) -> Cow<'_, str> {
    let acts = |letter: char| acts(letter) && letter != '\n' && letter != '\t';
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    // A carriage return acts, except before a line feed.
    let line = |line: &str| line.chars().map(|it| if acts(it) { INSTEAD } else { it }).collect();
    Cow::Owned(text.split("\r\n").map(line).collect::<Vec<String>>().join("\r\n"))
}

/// JSON with the same content, escaped so that it cannot act on a terminal.
pub fn shown_json(json: &str) -> Cow<'_, str> {
    let acts = |letter: char| acts(letter) && letter != '\n';
    match json.contains(acts) {
        false => Cow::Borrowed(json),
        true => {
            let escaped = |it: char| match acts(it) {
                true => format!("\\u{:04x}", u32::from(it)),
                false => it.to_string(),
            };
            json.chars().map(escaped).collect()
        }
    }
}

/// A table cell, which is one line.
pub fn one_line(text: &str) -> Cow<'_, str> {
    match text.contains(['\n', '\t']) {
        false => shown(text),
        true => Cow::Owned(shown(text).replace("\r\n", " ").replace(['\n', '\t'], " ")),
    }
}

/// Quotes a word for a shell, escaping what acts on a terminal.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:,=+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains(acts) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut escaped = String::new();
    for letter in word.chars() {
        match letter {
            '\'' | '\\' => escaped.extend(['\\', letter]),
            letter if acts(letter) => {
                let mut bytes = [0; 4];
                for byte in letter.encode_utf8(&mut bytes).bytes() {
                    escaped += &format!("\\{byte:03o}");
                }
            }
            letter => escaped.push(letter),
        }
    }
    format!("$'{escaped}'")
}

/// Whether a character acts on a terminal.
fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Words that run files from elsewhere may have.
    const HOSTILE: [&str; 9] = [
        "",
        "noload; rm -rf ~",
        "$(reboot)",
        "`id`",
        "it's",
        "a\nb",
        "\u{1b}]0;title\u{7}\u{1b}[201~\n",
        "back\\slash 'and' \u{9b}31m",
        "\u{202e}evil",
    ];

    #[test]
    fn nothing_acts_on_a_terminal_and_what_is_harmless_stays() {
        for text in HOSTILE {
            let shown = shown(text);
            assert!(!shown.contains(|it| acts(it) && it != '\n'), "{shown:?}");
            assert!(!one_line(text).contains('\n'));
        }
        for text in ["a\tb\n", "Größe ≤ 3 µs", "日本"] {
            assert!(matches!(shown(text), Cow::Borrowed(same) if same == text));
        }
        assert_eq!(shown("a\r\nb\r"), "a\r\nb\u{fffd}");
        assert_eq!(one_line("a\r\nb"), "a b");
    }

    #[test]
    fn json_keeps_its_content() {
        for text in HOSTILE {
            let value = serde_json::json!({ text: [text, "\u{7f}"] });
            let json = format!("{value:#}");
            let shown = shown_json(&json);
            assert!(!shown.contains(|it| acts(it) && it != '\n'), "{shown:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }

    #[test]
    fn a_shell_takes_every_word_for_one() {
        for word in HOSTILE.into_iter().chain(["vm:machine=p2-350", "--load"]) {
            let quoted = quoted(word);
            assert!(!quoted.contains(acts), "{quoted:?}");
            let script = format!("printf %s {quoted}");
            let Ok(said) = Command::new("bash").args(["-c", &script]).output() else { return };
            assert_eq!(String::from_utf8(said.stdout).unwrap(), word, "{quoted}");
        }
        assert_eq!(quoted("vm:machine=p2-350"), "vm:machine=p2-350");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
