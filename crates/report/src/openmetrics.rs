//! The text format of OpenMetrics (specification 1.0), as monitoring reads it: families of samples
//! with labels.

/// What kind of figures a family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A figure as it is now.
    Gauge,
    /// Facts in labels; its samples end in `_info` and have the value 1.
    Info,
    /// Quantiles, sum and number of something.
    Summary,
}

/// A family under way.
#[derive(Clone, Debug)]
pub struct Family {
    name: String,
    text: String,
    samples: usize,
}

impl Family {
    /// A family without samples. A name ends in its unit where it has one (`_seconds`, `_bytes`,
    /// `_ratio`), which is then told as such.
    pub fn new(name: &str, kind: Kind, help: &str) -> Self {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Info => "info",
            Kind::Summary => "summary",
        };
        let unit = match name.rsplit_once('_') {
            Some((_, unit @ ("seconds" | "bytes" | "ratio"))) => format!("# UNIT {name} {unit}\n"),
            _ => String::new(),
        };
        let text = format!("# TYPE {name} {kind}\n{unit}# HELP {name} {}\n", escaped(help));
        Self { name: name.to_owned(), text, samples: 0 }
    }

    /// Adds a sample; `suffix` is what its name has behind the family's (`_count`, `_sum`, `_info`,
    /// or nothing).
    pub fn push(&mut self, suffix: &str, labels: &[(&str, &str)], value: f64) {
        self.text += &format!("{}{suffix}{} {value}\n", self.name, of(labels));
        self.samples += 1;
    }

    /// Whether it has no sample.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }
}

/// Families as a whole exposition; with samples or without.
pub fn exposition(families: &[Family]) -> String {
    families.iter().map(|family| family.text.as_str()).collect::<String>() + "# EOF\n"
}

/// Any text as a name of a metric or label: what may not stand there is an underscore.
pub fn name(text: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = text.chars().map(fits).collect();
    match name.chars().next() {
        Some(first) if !first.is_ascii_digit() => name,
        _ => format!("_{name}"),
    }
}

fn of(labels: &[(&str, &str)]) -> String {
    let pairs: Vec<String> =
        labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

/// A label's value: backslash, quote and newline are escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
