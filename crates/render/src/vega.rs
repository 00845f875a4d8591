//! The charts of a document alone, as Vega-Lite specifications by name.

use model::shown::shown_json;
use serde_json::{Map, Value};

use crate::document::Document;
use crate::output_format::{OutputFormat, RenderError, Style};

pub(crate) const FORMAT: OutputFormat = OutputFormat {
    name: "vega",
    about: "the charts by name, as Vega-Lite specifications",
    endings: &[],
    write,
};

fn write(document: &Document<'_>, _: &Style) -> Result<String, RenderError> {
    Ok(shown_json(&format!("{:#}\n", specifications(document))).into_owned())
}

/// The specifications of the charts by name.
pub(crate) fn specifications(document: &Document<'_>) -> Value {
    let by_name = document.charts().map(|chart| (chart.name.clone(), chart.spec.clone()));
    Value::Object(by_name.collect::<Map<String, Value>>())
}
