//! What `go test -json` writes: the output of `go test` in the events of cmd/test2json
//! (<https://pkg.go.dev/cmd/test2json>), a JSON object a line.
//!
//! A line of the output may be split over events, and packages run side by side, so the parts of
//! each package are joined.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    output: String,
}

/// The output of `go test`, package by package; `None` if the text has other lines first.
pub(crate) fn output(text: &str) -> Option<String> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first: Event = serde_json::from_str(lines.next()?).ok()?;
    let mut packages: BTreeMap<String, String> = BTreeMap::new();
    // A line that is cut, or of another program, is not an event.
    let others = lines.filter_map(|line| serde_json::from_str::<Event>(line).ok());
    for event in [first].into_iter().chain(others).filter(|event| event.action == "output") {
        packages.entry(event.package).or_default().push_str(&event.output);
    }
    Some(packages.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_lines_of_packages_side_by_side_are_joined() {
        let text = concat!(
            r#"{"Action":"start","Package":"a"}"#,
            "\n",
            r#"{"Action":"output","Package":"a","Output":"BenchmarkX-8 \\t"}"#,
            "\n",
            r#"{"Action":"output","Package":"b","Output":"BenchmarkY-8 \\t1 2 ns/op\\n"}"#,
            "\n",
            r#"{"Action":"output","Package":"a","Output":"1 3 ns/op\\n"}"#,
            "\n",
            r#"{"Action":"outp"#,
        );
        let text = output(&text.replace(r"\\", r"\")).unwrap();
        assert_eq!(text, "BenchmarkX-8 \t1 3 ns/op\nBenchmarkY-8 \t1 2 ns/op\n");
        assert_eq!(output("{\"results\": []}"), None);
        assert_eq!(output("BenchmarkX-8 1 3 ns/op\n"), None);
    }
}
