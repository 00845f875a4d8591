//! Specifications from templates: `charts/NAME.vl.json` of a crate.
//!
//! A template is Vega-Lite in JSON with these additions:
//! - `"$name"` is replaced with a part from the chart's code, or by a fragment: the template's own
//!   field `$name`, or a field of `shared.json`. If there is none, the field is left out.
//! - `"$": "name"` adds the fields of a fragment or part to an object, `"$": […]` those of several.
//! - `"$if": "name"` leaves an object out if there is no such part, or it is false.
//! - `"$present": "field"` builds a scale of those `pairs` whose name occurs in this field.
//! - `{name}` in a text is replaced with a part.
//! - `description` is a list of sentences.

use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

const SHARED: &str = include_str!("../../charts/shared.json");

/// The Vega expression of a duration as text; `value_ns` is an expression, too.
pub fn duration(value_ns: &str) -> String {
    let shared = fields(SHARED);
    shared["duration"].as_str().unwrap_or_default().replace("datum.value", value_ns)
}

/// The description of the chart, and its specification, whose data are the part `values`.
pub(super) fn filled(template: &str, parts: &Value) -> (String, Fields) {
    let (own, mut fragments) = (fields(template), fields(SHARED));
    let named = own.iter().filter_map(|(key, it)| Some((key.strip_prefix('$')?, it.clone())));
    fragments.extend(named.map(|(name, fragment)| (name.to_owned(), fragment)));
    debug_assert!(!fragments.keys().any(|name| parts.get(name).is_some()), "two of one name");
    let mut spec = Filling { parts, fragments }.fields(&own).unwrap_or_default();
    spec.insert("data".to_owned(), json!({ "values": parts["values"] }));
    let sentences = spec.remove("description").unwrap_or_default();
    let sentences = sentences.as_array().into_iter().flatten();
    let texts = sentences.filter_map(|it| it.as_str().or_else(|| it["text"].as_str()));
    (texts.collect::<Vec<_>>().join(" "), spec)
}

/// The fields of a template; a test reads all of them.
fn fields(text: &str) -> Fields {
    serde_json::from_str(text).unwrap_or_default()
}

struct Filling<'a> {
    parts: &'a Value,
    fragments: Fields,
}

impl Filling<'_> {
    fn given(&self, name: &str) -> Option<&Value> {
        self.parts.get(name).filter(|part| !matches!(part, Value::Null | Value::Bool(false)))
    }

    fn part(&self, name: &str) -> Option<Value> {
        let given = self.given(name).cloned();
        given.or_else(|| self.value(self.fragments.get(name)?))
    }

    fn value(&self, value: &Value) -> Option<Value> {
        match value {
            Value::String(text) => match text.strip_prefix('$') {
                Some(name) => self.part(name),
                None => Some(self.text(text).into()),
            },
            Value::Array(all) => Some(all.iter().filter_map(|it| self.value(it)).collect()),
            Value::Object(fields) => self.fields(fields).map(Value::Object),
            _ => Some(value.clone()),
        }
    }

    fn fields(&self, fields: &Fields) -> Option<Fields> {
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        if text("$if").is_some_and(|name| self.given(name).is_none()) {
            return None;
        }
        let several = fields.get("$").and_then(Value::as_array).into_iter().flatten();
        let bases = several.filter_map(Value::as_str).chain(text("$"));
        let mut made = Fields::new();
        for base in bases.filter_map(|name| self.part(name)) {
            made.extend(base.as_object().cloned().unwrap_or_default());
        }
        let plain = fields.iter().filter(|(key, _)| !key.starts_with('$'));
        made.extend(plain.filter_map(|(key, value)| Some((key.clone(), self.value(value)?))));
        if let Some(field) = text("$present") {
            self.keep_present(field, &mut made);
        }
        Some(made)
    }

    /// Replaces `pairs` with domain and range, unless those are given.
    fn keep_present(&self, field: &str, scale: &mut Fields) {
        let values = self.parts["values"].as_array().into_iter().flatten();
        let pairs = scale.remove("pairs").unwrap_or_default();
        let pairs = pairs.as_array().into_iter().flatten();
        let has = |name: &Value| pairs.clone().any(|pair| pair[0] == *name);
        debug_assert!(values.clone().all(|it| has(&it[field])), "one without a pair: {field}");
        let is_present = |pair: &&Value| values.clone().any(|it| it[field] == pair[0]);
        let (names, range): (Vec<Value>, Vec<Value>) =
            pairs.clone().filter(is_present).map(|pair| (pair[0].clone(), pair[1].clone())).unzip();
        scale.entry("domain").or_insert(names.into());
        scale.entry("range").or_insert(range.into());
    }

    fn text(&self, text: &str) -> String {
        let mut pieces = text.split('{');
        let mut made = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (name, rest) = piece.split_once('}').unwrap_or(("", piece));
            match self.given(name) {
                Some(Value::String(part)) => made += part,
                Some(part) => made += &part.to_string(),
                None => {}
            }
            made += rest;
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_largest_unit_below_them() {
        assert!(!fields(SHARED).is_empty());
        assert_eq!(
            duration("x"),
            "x >= 1e9 ? format(x / 1e9, '.3~r') + 's' : x >= 1e6 ? format(x / 1e6, '.3~r') + 'ms' \
             : x >= 1e3 ? format(x / 1e3, '.3~r') + 'us' : format(x, '.3~r') + 'ns'"
        );
    }

    #[test]
    fn a_template_is_filled_with_parts_and_fragments() {
        let template = r#"{
            "description": ["{what} {n}.", { "$if": "no", "text": "No." }, { "$if": "yes", "text": "Yes." }],
            "$own": { "a": 1, "b": 2 },
            "mark": { "$": ["own", "more"], "b": "$n", "c": "$missing" },
            "scale": { "$present": "kind", "pairs": [["x", 1], ["y", 2]] }
        }"#;
        let parts = json!({
            "what": "{n}", "n": 3, "yes": true, "no": false, "more": { "d": "$own" },
            "values": [{ "kind": "y" }],
        });
        let (reading, spec) = filled(template, &parts);
        assert_eq!(reading, "{n} 3. Yes.");
        let expected = json!({
            "mark": { "a": 1, "b": 3, "d": "$own" },
            "scale": { "domain": ["y"], "range": [2] },
            "data": { "values": [{ "kind": "y" }] },
        });
        assert_eq!(Value::Object(spec), expected);
    }
}
