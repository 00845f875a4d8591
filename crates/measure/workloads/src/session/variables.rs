//! Variables, `{name}`, in the arguments of commands.

use std::collections::BTreeMap;
use std::path::Path;

use model::Script;

/// The variables of every script: the user's directory and number.
pub(crate) const OWN: [&str; 2] = ["dir", "user"];

/// The arguments of a command with all variables of the script replaced; users count from 0.
pub fn arguments(script: &Script, dir: &Path, user: u32, arguments: &[String]) -> Vec<String> {
    let own = BTreeMap::from([("dir", dir.display().to_string()), ("user", user.to_string())]);
    let variables = script.variables.iter();
    let mut values: BTreeMap<&str, String> =
        variables.map(|(name, value)| (name.as_str(), replaced(value, &own))).collect();
    values.extend(own);
    arguments.iter().map(|argument| replaced(argument, &values)).collect()
}

/// A program with the script's variables replaced; `None` if it depends on the user.
pub(crate) fn program(script: &Script, program: &str) -> Option<String> {
    let values = script.variables.iter();
    let values = values.map(|(name, value)| (name.as_str(), value.clone())).collect();
    let of_all = replaced(program, &values);
    let is_own = |name: &str| OWN.contains(&name);
    // A value may name the user's directory.
    (!names(program).any(is_own) && !names(&of_all).any(is_own)).then_some(of_all)
}

/// Splits an argument into text and variable names (`true`); `{{`, `}}` and single braces are
/// literal braces.
fn pieces(argument: &str) -> Vec<(&str, bool)> {
    let mut pieces = Vec::new();
    let mut rest = argument;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        pieces.push((before, false));
        let name = from.strip_prefix('{').and_then(|from| from.split_once('}'));
        let used = match name.filter(|(name, _)| is_name(name)) {
            Some((name, _)) => {
                pieces.push((name, true));
                name.len() + 2
            }
            None => {
                pieces.push((&from[..1], false));
                1 + usize::from(from.starts_with("{{") || from.starts_with("}}"))
            }
        };
        rest = &from[used..];
    }
    pieces.push((rest, false));
    pieces
}

/// Whether a text can name a variable: letters, digits, `_` and `-`, a letter first.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '_' | '-'))
}

pub(crate) fn names(argument: &str) -> impl Iterator<Item = &str> {
    pieces(argument).into_iter().filter_map(|(piece, is_name)| is_name.then_some(piece))
}

fn replaced(argument: &str, values: &BTreeMap<&str, String>) -> String {
    // An unknown variable was refused when the script was read.
    let value = |name| values.get(name).map_or("", String::as_str);
    let pieces = pieces(argument).into_iter();
    pieces.map(|(piece, is_name)| if is_name { value(piece) } else { piece }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_braces_are_told_apart() {
        let values = [("dir", "/d".to_owned()), ("n", "7".to_owned())].into();
        for (argument, expected) in [
            ("{dir}/x{n}", "/d/x7"),
            ("{{dir}}", "{dir}"),
            ("{print $1}", "{print $1}"),
            ("a}b{", "a}b{"),
            ("{{{n}}}", "{7}"),
            ("", ""),
        ] {
            assert_eq!(replaced(argument, &values), expected, "{argument}");
        }
        assert_eq!(names("{a}{{b}}{c d}{e}").collect::<Vec<_>>(), ["a", "e"]);
    }

    proptest::proptest! {
        #[test]
        fn without_braces_nothing_changes(argument in "[^{}]{0,40}") {
            proptest::prop_assert_eq!(&replaced(&argument, &BTreeMap::new()), &argument);
        }

        #[test]
        fn any_argument_is_cut(argument in ".{0,40}") {
            let _ = replaced(&argument, &BTreeMap::new());
        }
    }
}
