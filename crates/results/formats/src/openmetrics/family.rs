//! The text format of OpenMetrics 1.0: families of samples with labels.

use itertools::Itertools;

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A current value.
    Gauge,
    /// A value that only grows; the names of its samples end in `_total`.
    Counter,
    /// Facts in labels; the names of its samples end in `_info`, their values are 1.
    Info,
    /// Quantiles, sum and count.
    Summary,
}

/// A family of samples.
#[derive(Clone, Debug)]
pub struct Family {
    name: String,
    text: String,
    /// Whether it has no samples.
    pub is_empty: bool,
}

impl Family {
    /// A family without samples, whose unit is the end of its name.
    pub fn new(name: &str, kind: Kind, help: &str) -> Self {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
            Kind::Info => "info",
            Kind::Summary => "summary",
        };
        let unit = match name.rsplit_once('_') {
            Some((_, unit @ ("seconds" | "bytes" | "ratio"))) => format!("# UNIT {name} {unit}\n"),
            _ => String::new(),
        };
        let text = format!("# TYPE {name} {kind}\n{unit}# HELP {name} {}\n", escaped(help));
        Self { name: name.to_owned(), text, is_empty: true }
    }

    /// Adds a sample; `suffix` of its name is `_count`, `_sum`, `_info`, `_total` or empty.
    pub fn push<S: AsRef<str>>(&mut self, suffix: &str, labels: &[(S, S)], value: f64) {
        let text =
            |(label, value): &(S, S)| format!("{}=\"{}\"", label.as_ref(), escaped(value.as_ref()));
        let labels = labels.iter().map(text).join(",");
        let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        self.text += &format!("{}{suffix}{labels} {value}\n", self.name);
        self.is_empty = false;
    }
}

/// Families as one exposition.
pub fn exposition(families: &[Family]) -> String {
    families.iter().map(|family| family.text.as_str()).collect::<String>() + "# EOF\n"
}

/// Converts a text to a metric or label name; other characters become underscores.
pub(super) fn name(text: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = text.chars().map(fits).collect();
    match name.chars().next() {
        Some(first) if !first.is_ascii_digit() => name,
        _ => format!("_{name}"),
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
