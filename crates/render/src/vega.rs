//! The charts of a document alone, as Vega-Lite specifications by name.

use model::shown::shown_json;
use serde_json::{Map, Value};

use crate::document::Document;
use crate::output_format::{OutputFormat, Style};

pub(crate) const FORMAT: OutputFormat = OutputFormat {
    name: "vega",
    about: "the charts by name, as Vega-Lite specifications",
    endings: &[],
    write,
};

fn write(document: &Document<'_>, _: &Style) -> serde_json::Result<String> {
    Ok(shown_json(&format!("{:#}\n", specifications(document))).into_owned())
}

pub(crate) fn specifications(document: &Document<'_>) -> Value {
    let by_name = document.charts().map(|chart| (chart.name.clone(), chart.spec.clone()));
    Value::Object(by_name.collect::<Map<String, Value>>())
}
