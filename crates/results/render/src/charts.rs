//! Charts from templates, and the numbers on their axes.

mod scale;
mod template;

use serde_json::{Value, json};

pub use scale::{domain, largest_of_chunks, powers_of_two, rounded, ticks};
pub use template::duration;

use crate::{Chart, Table};

/// A chart from the parts that fill a template (`crates/results/render/src/charts/template.rs`), and its
/// table.
pub fn chart(name: &str, title: &str, template: &str, (parts, table): (&Value, Table)) -> Chart {
    let (reading, mut spec) = template::filled(template, parts);
    let schema = "https://vega.github.io/schema/vega-lite/v6.json";
    spec.insert("$schema".to_owned(), json!(schema));
    spec.insert("description".to_owned(), format!("{title}. {reading}").into());
    Chart {
        name: name.to_owned(),
        title: title.to_owned(),
        reading,
        spec: spec.into(),
        table: Table { caption: format!("{title} in figures"), ..table },
    }
}
