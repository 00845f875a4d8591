//! Old names of options. They work for one more release, with a warning.

use std::ffi::OsString;

/// The verb that an option belongs to, its old name, and the new one.
const RENAMED: [(&str, &str, &str); 7] = [
    ("ab", "--print-plan", "--dry-run"),
    ("experiment", "--print-plan", "--dry-run"),
    ("sweep", "--print-plan", "--dry-run"),
    ("import", "--from", "--input-format"),
    ("mmu curve", "--from", "--input-format"),
    ("trace convert", "--from", "--input-format"),
    ("trace stat", "--from", "--input-format"),
];

/// Replaces the old names in a command line. Returns a warning for each.
pub(crate) fn replace(arguments: &mut [OsString]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (verb, old, new) in RENAMED {
        if replace_option(arguments, verb, old, new) {
            warnings.push(format!(
                "{old} was renamed to {new}; the old name will be removed in the next release"
            ));
        }
    }
    warnings
}

fn replace_option(arguments: &mut [OsString], verb: &str, old: &str, new: &str) -> bool {
    let start = verb_index(arguments);
    if !begins_with(&arguments[start..], verb) {
        return false;
    }
    let mut is_replaced = false;
    for argument in arguments[start..].iter_mut().take_while(|argument| *argument != "--") {
        let Some(rest) = argument.to_str().and_then(|text| text.strip_prefix(old)) else {
            continue;
        };
        if rest.is_empty() || rest.starts_with('=') {
            *argument = format!("{new}{rest}").into();
            is_replaced = true;
        }
    }
    is_replaced
}

/// Position of the verb: after the only option that all verbs share.
fn verb_index(arguments: &[OsString]) -> usize {
    let index = match arguments.get(1).and_then(|argument| argument.to_str()) {
        Some("--color") => 3,
        Some(option) if option.starts_with('-') => 2,
        _ => 1,
    };
    index.min(arguments.len())
}

fn begins_with(arguments: &[OsString], words: &str) -> bool {
    let mut arguments = arguments.iter();
    words.split(' ').all(|word| arguments.next().is_some_and(|argument| argument == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(line: &str) -> (String, usize) {
        let mut arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let warnings = replace(&mut arguments);
        let words: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
        (words.join(" "), warnings.len())
    }

    #[test]
    fn old_names_are_replaced_in_their_verb_and_before_the_double_dash() {
        for (line, new, warnings) in [
            ("thrashlab sweep touch --print-plan", "thrashlab sweep touch --dry-run", 1),
            (
                "thrashlab ab thp always never --print-plan",
                "thrashlab ab thp always never --dry-run",
                1,
            ),
            (
                "thrashlab --color never trace stat --from=din t",
                "thrashlab --color never trace stat --input-format=din t",
                1,
            ),
            ("thrashlab sweep --from folder", "thrashlab sweep --from folder", 0),
            ("thrashlab sweep -- --print-plan", "thrashlab sweep -- --print-plan", 0),
            ("thrashlab", "thrashlab", 0),
        ] {
            assert_eq!(replaced(line), (new.to_owned(), warnings), "{line}");
        }
    }
}
