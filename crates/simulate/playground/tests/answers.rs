//! Requests of the page and their answers, as a native program.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::io::Cursor;

use serde_json::{Value, json};

fn asked(request: &Value, file: &[u8]) -> Vec<Value> {
    let input = [request.to_string().as_bytes(), b"\n", file].concat();
    let mut output = Vec::new();
    playground::answer(&mut Cursor::new(input), &mut output).unwrap();
    let lines = str::from_utf8(&output).unwrap().lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn sweep(machines: &[(&str, Value)], range: [&str; 2], passes: u32) -> Vec<Value> {
    let machine = |(label, settings): &(&str, Value)| json!({"label": label, "settings": settings});
    let machines: Vec<Value> = machines.iter().map(machine).collect();
    let [first, last] = range;
    asked(
        &json!({"do": "sweep", "machines": machines, "first": first, "last": last, "passes": passes}),
        b"",
    )
}

fn file(name: &str, bytes: &[u8]) -> Value {
    let mut lines = asked(&json!({"do": "file", "name": name}), bytes);
    assert_eq!(lines.len(), 1);
    lines.remove(0)
}

fn html(line: &Value) -> &str {
    line["result"]["html"].as_str().unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn every_choice_that_is_offered_can_be_simulated() {
    let answer = &asked(&json!({"do": "choices"}), b"")[0];
    let (names, presets) = (&answer["choices"]["names"], &answer["choices"]["presets"]);
    let all = |name: &str| names[name].as_array().unwrap().clone();
    assert_eq!(presets.as_array().unwrap().len(), all("machine").len() * all("hat").len());
    for preset in presets.as_array().unwrap() {
        assert!(preset["settings"]["pmegs"].as_str().unwrap().parse::<u32>().unwrap() > 0);
    }
    for name in ["hat", "victim", "reload", "context_policy", "swapping", "sharing"] {
        for value in all(name) {
            assert!(presets[0]["settings"].get(name).is_some(), "{name} has no preset");
            let lines = sweep(&[("", json!({ name: value }))], ["2M", "4M"], 1);
            assert_eq!(lines.last().unwrap()["result"]["done"], true, "{name}={value}");
        }
    }
}

#[test]
fn a_sweep_is_shown_as_it_grows_and_the_same_every_time() {
    let machines = [("old", json!({"hat": "old"})), ("new", json!({"hat": "new", "pmegs": ""}))];
    let lines = sweep(&machines, ["2M", "32M"], 2);
    let (last, before) = lines.split_last().unwrap();
    assert!(!before.is_empty());
    assert!(before.iter().all(|line| line["result"]["done"] == false), "{before:?}");
    assert_eq!(last["result"]["done"], true);
    assert!(html(last).contains("machine old: Knee at "), "{}", html(last));
    assert!(html(last).contains("machine new: No knee up to 32M"), "{}", html(last));
    assert!(html(last).contains("--subject mmu:hat=new --range 2M..32M --passes 2"));
    let values = |line: &Value| {
        let values = line["result"]["charts"]["knee"]["data"]["values"].as_array();
        values.map_or(0, Vec::len)
    };
    assert!(values(last) > values(&before[0]) && values(&before[0]) >= 16);
    assert_eq!(sweep(&machines, ["2M", "32M"], 2), lines);
}

#[test]
fn more_pmegs_move_the_cliff() {
    let knee = |pmegs: &str| {
        let lines = sweep(&[("", json!({"pmegs": pmegs}))], ["2M", "96M"], 2);
        let chart = &lines.last().unwrap()["result"]["charts"]["knee"];
        let layers = chart["layer"].as_array().unwrap();
        let knees = layers.iter().find_map(|layer| layer["data"]["values"][0]["knee"].as_f64());
        knees.unwrap_or_else(|| panic!("no knee: {chart}"))
    };
    let (few, as_built, many) = (knee("96"), knee("128"), knee("256"));
    assert!(few < as_built && as_built * 1.5 < many, "{few} {as_built} {many}");
}

#[test]
fn what_cannot_be_simulated_is_refused_with_the_reason() {
    for (settings, range, passes, why) in [
        (json!({"machine": "vax"}), ["2M", "32M"], 1, "vax"),
        (json!({"pmegs": "36"}), ["2M", "32M"], 1, "none for processes"),
        (json!({"colour": "red"}), ["2M", "32M"], 1, "colour"),
        (json!({}), ["1M", "32M"], 1, "from 2M to 256M"),
        (json!({}), ["2M", "1T"], 1, "from 2M to 256M"),
        (json!({}), ["x", "32M"], 1, "first: "),
        (json!({}), ["8M", "8M"], 1, "one level only"),
        (json!({}), ["2M", "32M"], 0, "passes"),
    ] {
        let lines = sweep(&[("", settings)], range, passes);
        assert_eq!(lines.len(), 1);
        assert!(lines[0]["refused"].as_str().unwrap().contains(why), "{why}: {}", lines[0]);
    }
    let unknown = asked(&json!({"do": "dance"}), b"");
    assert!(unknown[0]["refused"].as_str().unwrap().contains("dance"));
}

#[test]
fn a_table_has_its_knee_whatever_its_two_columns_are_called() {
    let rows = (1..=24).map(|size| format!("{size},{}\n", if size < 12 { 1 } else { size }));
    let rows: String = rows.collect();
    for heading in ["size,time\n", "level,cost_ns\n"] {
        let line = file("mine.csv", format!("{heading}{rows}").as_bytes());
        assert!(html(&line).contains("Knee at 11."), "{}", html(&line));
        assert_eq!(line["result"]["columns"].as_array().unwrap().len(), 2);
    }
    // The first two columns of numbers are used, until two are chosen.
    let rows = (1..=24).map(|size| format!("a,{size},{}\n", if size < 8 { 1 } else { size }));
    let text = format!("who,x,y\n{}", rows.collect::<String>());
    let line = file("three.csv", text.as_bytes());
    assert!(html(&line).contains("Knee at 7."), "{line}");
    assert_eq!(line["result"]["chosen"], json!(["x", "y"]));
    let request = json!({"do": "file", "name": "three.csv", "level": "y", "cost": "x"});
    let line = &asked(&request, text.as_bytes())[0];
    assert_eq!(line["result"]["chosen"], json!(["y", "x"]));
    let request = json!({"do": "file", "name": "three.csv", "level": "x", "cost": "who"});
    let line = &asked(&request, text.as_bytes())[0];
    assert!(line["refused"].as_str().unwrap().contains("is not a number"), "{line}");
    // Nothing of a file becomes a part of the page.
    let line = file("<b>.csv", "size,<script>\n1,1\n2,1\n3,9\n4,9\n5,9\n".as_bytes());
    assert!(!html(&line).contains("<script>") && !html(&line).contains("<b>"), "{}", html(&line));
}

#[test]
fn a_trace_has_the_curve_of_its_misses() {
    // A loop over 40 pages in lackey's form: a cache of 40 pages misses each once.
    let mut text = String::new();
    for _ in 0..50 {
        (0..40).for_each(|page| text += &format!(" L {:08x},8\n", 0x10_0000 + page * 4096));
    }
    let line = file("loop.lackey", text.as_bytes());
    assert!(html(&line).contains("read as lackey"), "{}", html(&line));
    assert!(html(&line).contains("40 is still on the plateau"), "{}", html(&line));
    assert!(line["result"]["charts"]["dropped"]["data"]["values"].is_array());
    assert_eq!(line["result"]["columns"], json!([]));
    // Rows of numbers that are a trace and not a table.
    let rows: String = (0..400).map(|at| format!("{},r,8\n", (at % 40) * 4096)).collect();
    for heading in ["", "address,access,size\n"] {
        let line = file("loop.csv", format!("{heading}{rows}").as_bytes());
        assert!(html(&line).contains("read as csv"), "{line}");
    }
}

#[test]
fn a_file_that_is_neither_is_refused_with_both_reasons() {
    for (name, bytes) in [("a.bin", &b"\0\x01\xff\xfe junk"[..]), ("a.txt", b"no commas here\n")] {
        let line = file(name, bytes);
        let why = line["refused"].as_str().unwrap();
        assert!(why.contains(name) && why.contains("nor a memory trace"), "{why}");
    }
    assert!(file("none.csv", b"")["refused"].as_str().unwrap().contains("empty"));
}
