//! The text of a line of a run file: one JSON object.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::Line;

/// Why a line is not a line of a run file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LineError(String);

impl LineError {
    fn syntax(error: &serde_json::Error) -> Self {
        Self(format!("not JSON at column {}: {error}", error.column()))
    }
}

impl Line {
    /// Parses one line (without its newline); an unknown kind becomes [`Line::Unknown`]. Fails
    /// when it is not JSON, has no kind, or a known kind lacks a field.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        Self::read(text)
    }

    /// Parses one line without its counters, its largest part. Fails as [`Line::parse`].
    pub fn parse_without_counters(text: &str) -> Result<Self, LineError> {
        let none: &RawValue = from_text("{}")?;
        let mut fields: BTreeMap<String, &RawValue> = match from_text(text) {
            Ok(fields) => fields,
            Err(_) => return Self::parse(text),
        };
        for (name, raw) in &mut fields {
            if ["before", "after", "counters"].contains(&name.as_str()) {
                *raw = none;
            }
        }
        // Raw values in a map always serialise.
        Self::parse(&serde_json::to_string(&fields).unwrap_or_default())
    }

    fn read(text: &str) -> Result<Self, LineError> {
        let kind = kind(text)?;
        let line = match &*kind {
            "header" => {
                check_schema(text)?;
                serde_json::from_str(text).map(Self::Header)
            }
            "phase" => serde_json::from_str(text).map(Self::Phase),
            "sample" => serde_json::from_str(text).map(Self::Sample),
            "histogram" => serde_json::from_str(text).map(Self::Histogram),
            "work" => serde_json::from_str(text).map(Self::Work),
            "pass" => serde_json::from_str(text).map(Self::Pass),
            "delivered" => serde_json::from_str(text).map(Self::Delivered),
            "counters" => serde_json::from_str(text).map(Self::Counters),
            "warning" => serde_json::from_str(text).map(Self::Warning),
            "death" => serde_json::from_str(text).map(Self::Death),
            "end" => serde_json::from_str(text).map(Self::End),
            _ => return from_text(text).map(Self::Unknown),
        };
        line.map_err(|error| match error.classify() {
            Category::Data => LineError(format!("bad {kind} line: {}", plain(&error))),
            _ => LineError::syntax(&error),
        })
    }

    /// The line as JSON, without its newline; `kind` comes first.
    pub fn to_json(&self) -> String {
        // Structs of numbers, strings and maps always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The kind of a line, which comes first in lines written here.
fn kind(text: &str) -> Result<Cow<'_, str>, LineError> {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    let first = text.strip_prefix("{\"kind\":\"").and_then(|rest| rest.split_once('"'));
    if let Some((kind, _)) = first.filter(|(kind, _)| !kind.contains('\\')) {
        return Ok(Cow::Borrowed(kind));
    }
    match serde_json::from_str::<Kind>(text) {
        Ok(found) if text.trim_ascii_start().starts_with('{') => Ok(Cow::Owned(found.kind)),
        Err(error) if error.classify() != Category::Data => Err(LineError::syntax(&error)),
        _ => Err(LineError("the line has no string field \"kind\"".to_owned())),
    }
}

/// Refuses a newer format before any other error.
fn check_schema(text: &str) -> Result<(), LineError> {
    #[derive(Deserialize)]
    struct Schema {
        schema: u64,
    }
    match serde_json::from_str::<Schema>(text) {
        Ok(Schema { schema: found }) if found > u64::from(crate::SCHEMA) => {
            Err(LineError(format!(
                "schema {found} is newer than this build knows ({}): update thrashlab",
                crate::SCHEMA
            )))
        }
        _ => Ok(()),
    }
}

fn from_text<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, LineError> {
    serde_json::from_str(text).map_err(|error| LineError::syntax(&error))
}

/// An error without its place, as the file's reader knows the line.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_are_not_asked_for_are_empty_and_all_else_is_the_same() {
        let counters = r#""vmstat":{"pgfault":18446744073709551615,"oom_kill":0}"#;
        for text in [
            format!(
                r#"{{"kind":"sample","at_ns":9,"index":1,"intended_ns":2,"started_ns":3,"new":[1],"before":{{{counters}}},"after":{{}}}}"#
            ),
            format!(r#"{{"kind":"counters","at_ns":9,"counters":{{{counters}}}}}"#),
        ] {
            let bare = text.replace(counters, "");
            assert_ne!(Line::parse(&text).unwrap(), Line::parse(&bare).unwrap());
            assert_eq!(Line::parse_without_counters(&text).unwrap(), Line::parse(&bare).unwrap());
            let faulty = text.replace("\"at_ns\":9", "\"at_ns\":-9");
            for read in [Line::parse, Line::parse_without_counters] {
                let why = |text: &str| read(text).unwrap_err().to_string();
                assert!(why(&faulty).starts_with("bad "));
                assert!(why(&text[..text.len() - 1]).starts_with("not JSON at column "));
                assert!(why(&text.replace("kind", "name")).contains("no string field"));
                assert!(why("[1]").contains("no string field"));
            }
        }
    }
}
