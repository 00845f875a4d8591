//! Parts of specifications that many charts have in common.

use serde_json::{Value, json};

/// The text that stands for a mark: as a tip, and as its description for readers of a screen.
pub(super) fn tip() -> Value {
    json!({ "field": "tip", "type": "nominal" })
}

/// A colour by name, with a legend below.
pub(super) fn by_colour(field: &str, pairs: &[(&str, &str)]) -> Value {
    json!({ "field": field, "type": "nominal", "title": null, "scale": colours(pairs),
            "legend": { "orient": "bottom" } })
}

/// The names with their colours that some of the values have in this field.
pub(super) fn present<'n>(
    pairs: &[(&'n str, &'n str)],
    field: &str,
    values: &[Value],
) -> Vec<(&'n str, &'n str)> {
    let is_present = |(name, _): &(&str, &str)| values.iter().any(|value| value[field] == *name);
    pairs.iter().copied().filter(is_present).collect()
}

/// Marks that are small panels, side by side in as many columns as there is room for: whoever draws
/// it reads the hint.
pub(super) fn panels(field: &str, order: &[String], columns: usize) -> Value {
    json!({
        "facet": {
            "field": field, "type": "nominal", "sort": order, "title": null,
            "header": { "labelAnchor": "start", "labelFontWeight": "bold", "labelLimit": 260 },
        },
        "columns": columns,
        "spacing": { "row": 14, "column": 34 },
        "usermeta": { "fit": "columns" },
    })
}

/// An object with the fields of both.
pub(super) fn merged(mut first: Value, second: Value) -> Value {
    if let (Some(fields), Value::Object(second)) = (first.as_object_mut(), second) {
        fields.extend(second);
    }
    first
}

/// A scale of colours by name.
fn colours(pairs: &[(&str, &str)]) -> Value {
    let (domain, range): (Vec<&str>, Vec<&str>) = pairs.iter().copied().unzip();
    json!({ "domain": domain, "range": range })
}

/// A number with at most six significant digits: more are not drawn, and cost room.
pub(super) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = (5 - value.abs().log10().floor() as i32).clamp(-300, 300);
    let factor = 10_f64.powi(digits.abs());
    match digits >= 0 {
        true => (value * factor).round() / factor,
        false => (value / factor).round() * factor,
    }
}
