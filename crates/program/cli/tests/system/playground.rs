//! The playground of the site shows what the command line prints.

use std::fs;
use std::io::Cursor;

use serde_json::{Value, json};

use crate::support::{Finished, Fixture};

/// The last line of an answer.
fn answer(request: &Value, file: &[u8]) -> Value {
    let input = [request.to_string().as_bytes(), b"\n", file].concat();
    let mut output = Vec::new();
    playground::answer(&mut Cursor::new(input), &mut output).unwrap();
    let last = str::from_utf8(&output).unwrap().lines().next_back().unwrap();
    let answer: Value = serde_json::from_str(last).unwrap();
    answer["result"].clone()
}

/// The first sentence that a command printed below its title.
fn sentence(finished: &Finished, start: &str) -> String {
    let text = finished.sentences();
    let begin = text.find(start).unwrap_or_else(|| panic!("{start} is not in {text}"));
    let rest = &text[begin..];
    rest[..rest.find(". ").unwrap_or(rest.len())].to_owned()
}

#[test]
fn the_playground_has_the_chart_of_a_sweep_to_the_byte() {
    let fixture = Fixture::new();
    for (number, (settings, range, passes)) in [
        (json!({"machine": "sparcstation1", "hat": "old"}), ["2M", "32M"], 2),
        (json!({"machine": "sparcstation2", "hat": "netbsd", "pmegs": "160"}), ["2M", "96M"], 1),
        (json!({"hat": "old", "sharing": "on", "victim": "lru-visit"}), ["8M", "24M"], 3),
    ]
    .into_iter()
    .enumerate()
    {
        let pairs = settings.as_object().unwrap().iter();
        let pairs = pairs.map(|(name, value)| format!("{name}={}", value.as_str().unwrap()));
        let subject = pairs.collect::<Vec<_>>().join(",");
        let [first, last] = range;
        let command = format!(
            "sweep vmtest --subject mmu:{subject} --range {first}..{last} --passes {passes} \
             --output sweep{number}"
        );
        let swept = fixture.finish(fixture.thrashlab(&command));
        swept.expect(0, &["run files"]);
        let drawn = fixture.thrashlab(&format!("report sweep{number} --format vega"));
        let drawn = fixture.finish(drawn);
        drawn.expect(0, &[]);
        let charts: Value = serde_json::from_str(&drawn.stdout).unwrap();
        let shown = answer(
            &json!({
                "do": "sweep", "machines": [{"label": "", "settings": settings}],
                "first": first, "last": last, "passes": passes,
            }),
            b"",
        );
        assert_eq!(shown["done"], true);
        assert_eq!(shown["charts"]["knee"].to_string(), charts["knee"].to_string(), "{subject}");
        let html = shown["html"].as_str().unwrap();
        assert!(html.contains(command.split(" --output").next().unwrap()), "{html}");
    }
}

#[test]
fn the_playground_reads_files_as_the_command_line_does() {
    let fixture = Fixture::new();
    let rows = (1..=20).map(|mb| format!("{mb},{}\n", if mb < 9 { mb } else { mb * mb }));
    let table = format!("size_mb,elapsed_s\n{}", rows.collect::<String>());
    fs::write(fixture.path().join("table.csv"), &table).unwrap();
    let swept = fixture.finish(fixture.thrashlab("sweep --from table.csv"));
    swept.expect(0, &[]);
    let mut text = String::new();
    for _ in 0..50 {
        (0..40).for_each(|page| text += &format!(" L {:08x},8\n", 0x10_0000 + page * 4096));
    }
    fs::write(fixture.path().join("loop.txt"), &text).unwrap();
    let curve = fixture.finish(fixture.thrashlab("mmu curve loop.txt"));
    curve.expect(0, &[]);
    for (name, bytes, printed) in [("table.csv", &table, &swept), ("loop.txt", &text, &curve)] {
        let shown = answer(&json!({"do": "file", "name": name}), bytes.as_bytes());
        let knee = sentence(printed, "Knee at ");
        assert!(shown["html"].as_str().unwrap().contains(&knee), "{knee} is not in {shown}");
    }
}
