//! `{name}` in the arguments of commands.

use std::collections::BTreeMap;
use std::path::Path;

use model::Script;

/// The variables that every script has: the user's directory and number.
pub(crate) const OWN: [&str; 2] = ["dir", "user"];

/// Where a command is issued, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct Seat<'a> {
    /// The user's own directory.
    pub dir: &'a Path,
    /// The user's number, from 0.
    pub user: u32,
}

impl Seat<'_> {
    /// The arguments of a command with all variables of the script replaced.
    pub fn arguments(&self, script: &Script, arguments: &[String]) -> Vec<String> {
        let mut values: BTreeMap<&str, String> = self.own();
        for (name, value) in &script.variables {
            values.insert(name, replaced(value, &self.own()));
        }
        arguments.iter().map(|argument| replaced(argument, &values)).collect()
    }

    fn own(&self) -> BTreeMap<&'static str, String> {
        let [dir, user] = OWN;
        [(dir, self.dir.display().to_string()), (user, self.user.to_string())].into()
    }
}

/// Cuts an argument: `{name}` is a variable, `{{` and `}}` are braces, so is a brace of neither.
fn pieces(argument: &str) -> Vec<Result<&str, Variable<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = argument;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        pieces.push(Ok(before));
        let name = from.strip_prefix('{').and_then(|from| from.split_once('}'));
        let used = match name.filter(|(name, _)| is_name(name)) {
            Some((name, _)) => {
                pieces.push(Err(Variable(name)));
                name.len() + 2
            }
            None => {
                pieces.push(Ok(&from[..1]));
                1 + usize::from(from.starts_with("{{") || from.starts_with("}}"))
            }
        };
        rest = &from[used..];
    }
    pieces.push(Ok(rest));
    pieces
}

struct Variable<'a>(&'a str);

/// Whether a text can name a variable: letters, digits, `_` and `-`, a letter first.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '_' | '-'))
}

pub(crate) fn names(argument: &str) -> impl Iterator<Item = &str> {
    pieces(argument).into_iter().filter_map(|piece| piece.err().map(|Variable(name)| name))
}

fn replaced(argument: &str, values: &BTreeMap<&str, String>) -> String {
    // A script with an unknown variable is refused when it is read.
    let value = |Variable(name)| values.get(name).map_or("", String::as_str);
    pieces(argument).into_iter().map(|piece| piece.unwrap_or_else(value)).collect()
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
