//! The user's configuration file: defaults of options, in TOML.

use std::collections::BTreeMap;

use model::description::{Description, DescriptionError};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Less similar names are not suggested for an unknown one.
const LEAST_LIKENESS: f64 = 0.7;

#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Text(String),
    Number(i64),
    Other(IgnoredAny),
}

/// Reads values by name. Fails, with the line, if the text is not TOML, a name is not among
/// `names`, or a value is neither text nor an integer, is empty, or fails `check`.
pub fn parse(
    text: &str,
    names: &[&str],
    check: impl Fn(&str, &str) -> Result<(), String>,
) -> Result<BTreeMap<String, String>, DescriptionError> {
    let description = Description(text);
    let values: BTreeMap<String, Value> = description.read()?;
    let read = |(name, value): (String, Value)| {
        description.that(&name, names.contains(&name.as_str()), unknown(&name, names))?;
        let value = match value {
            Value::Text(text) if !text.is_empty() => text,
            Value::Number(number) => number.to_string(),
            Value::Text(_) => return description.refuse(&name, format!("{name} is empty")),
            Value::Other(_) => {
                return description.refuse(
                    &name,
                    format!("{name} is neither a text in quotes nor a whole number"),
                );
            }
        };
        match check(&name, &value) {
            Ok(()) => Ok((name, value)),
            Err(why) => description.refuse(&name, format!("{name} = {value:?}: {why}")),
        }
    };
    values.into_iter().map(read).collect()
}

fn unknown(name: &str, names: &[&str]) -> String {
    let likeness = |other: &str| strsim::jaro_winkler(name, other);
    let nearest = names.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest.filter(|nearest| likeness(nearest) >= LEAST_LIKENESS) {
        Some(nearest) => format!("no setting is named {name:?}; did you mean {nearest}?"),
        None => format!("no setting is named {name:?}; choose from: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: [&str; 3] = ["jobs", "margin", "work-dir"];

    fn read(text: &str) -> Result<BTreeMap<String, String>, String> {
        let check = |_: &str, value: &str| match value {
            "bad" => Err("not good".to_owned()),
            _ => Ok(()),
        };
        parse(text, &NAMES, check).map_err(|error| error.to_string())
    }

    #[test]
    fn texts_and_whole_numbers_are_read() {
        let values = read("# mine\njobs = 4\nwork-dir = \"/disk\"\n").unwrap();
        assert_eq!(
            values,
            [("jobs", "4"), ("work-dir", "/disk")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into()
        );
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_line() {
        for (text, message) in [
            (
                "\nmargins = 1",
                "line 2, column 11: no setting is named \"margins\"; did you mean margin?",
            ),
            (
                "x = 1",
                "line 1, column 5: no setting is named \"x\"; choose from: jobs, margin, work-dir",
            ),
            ("jobs = 1.5", "line 1, column 8: jobs is neither a text in quotes nor a whole number"),
            (
                "[jobs]\na = 1",
                "line 1, column 1: jobs is neither a text in quotes nor a whole number",
            ),
            ("jobs = 1\nmargin = 'bad'", "line 2, column 10: margin = \"bad\": not good"),
            ("jobs = ''", "line 1, column 8: jobs is empty"),
        ] {
            assert_eq!(read(text).unwrap_err(), message);
        }
        for text in ["jobs = 1\njobs = 2", "jobs = yes", "jobs"] {
            let message = read(text).unwrap_err();
            assert!(message.starts_with("line "), "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([a-z.\\-\"\\[]{1,8} = [a-z0-9\"'\\[.]{0,8}\n){0,4}.{0,20}") {
            if let Ok(values) = read(&text) {
                prop_assert!(values.iter().all(|(name, value)| NAMES.contains(&name.as_str()) && !value.is_empty()));
            }
        }
    }
}
