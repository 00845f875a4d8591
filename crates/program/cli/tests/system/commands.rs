//! The other commands, the forms of the result, and wrong use.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::support::{Finished, Fixture};

/// The published figures, as they are in the repository.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../reference/resp1");

fn thrashlab(fixture: &Fixture, arguments: &str) -> Finished {
    fixture.finish(fixture.thrashlab(arguments))
}

#[test]
fn one_run_of_all_loads_is_read_in_every_form() {
    let fixture = Fixture::new();
    let finished = fixture.finish(fixture.run("--format resp1"));
    finished.expect(0, &[]);
    // Two lines of heading and one row per load, as in 2003: `grep '^ '` cuts them out.
    let table: Vec<&str> = finished.stdout.lines().filter(|line| line.starts_with(' ')).collect();
    assert_eq!(table.len(), 2 + workloads::loads().count(), "{}", finished.stdout);

    // Its own reader takes it, from standard input.
    let file = fixture.path().join("resp1.out");
    fs::write(&file, &finished.stdout).unwrap();
    let mut import = fixture.thrashlab("import resp1 -");
    import.stdin(Stdio::from(fs::File::open(&file).unwrap()));
    let imported = fixture.finish(import);
    imported.expect(0, &[]);
    assert!(!imported.stdout.contains("DIFFERS"), "{}", imported.stdout);

    let folder = fixture.output();
    let json = thrashlab(&fixture, &format!("show {} --json", folder.display()));
    json.expect(0, &[]);
    let matrix: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let rows: Vec<&str> =
        matrix["rows"].as_array().unwrap().iter().filter_map(|row| row["load"].as_str()).collect();
    let names: Vec<&str> = workloads::loads().map(|load| load.name).collect();
    assert_eq!(rows, names);
    for row in matrix["rows"].as_array().unwrap() {
        assert_eq!((&row["status"], &row["censored"]), (&"complete".into(), &0.into()), "{row}");
    }

    let table = thrashlab(&fixture, &format!("show {}", folder.display()));
    table.expect(0, &[]);
    assert!(names.iter().all(|name| table.stdout.contains(name)), "{}", table.stdout);
    let first = thrashlab(&fixture, &format!("show {} --format resp1-first", folder.display()));
    first.expect(0, &[]);

    let again = fixture.finish(fixture.run("--load noload"));
    again.expect(2, &["holds runs already", "--output"]);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(name) = name.strip_suffix(".run.jsonl") else {
            assert_eq!(name, "report.html");
            continue;
        };
        assert_eq!(fixture.run_file(name).checksum_ok, Some(true), "{name}");
    }
}

#[test]
fn a_folder_with_a_broken_run_is_not_written_to() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.output()).unwrap();
    fs::write(fixture.output().join("001-noload.run.jsonl"), "broken\n").unwrap();
    fixture.finish(fixture.run("--load noload")).expect(2, &["holds runs already", "--output"]);
    let file = fixture.path().join("stdout");
    let arguments = format!("--load noload --output {}", file.display());
    fixture.finish(fixture.run(&arguments)).expect(2, &["is a file", "--output"]);
}

#[test]
fn wrong_use_is_2_and_names_what_is_known() {
    let fixture = Fixture::new();
    let cases: [(&str, &[&str]); 14] = [
        ("run --load nosuch", &["nosuch", "smallwrite", "2ctx-mem"]),
        ("run --probe nosuch", &["nosuch", "response", "wake", "fileops"]),
        ("run --subject nosuch", &["nosuch", "host", "sandbox"]),
        ("run --subject sandbox:mem=1M", &["at least 16M"]),
        ("run --subject host:mem=x", &["is not a size", "such as 512M"]),
        ("run --interval 9000000000s", &["at most a day"]),
        ("run --interval 1ns", &["at least"]),
        ("run --points 0", &["--points"]),
        ("run --classic --quick", &["cannot be used with"]),
        ("run --intensity nan", &["from 0 to 100"]),
        ("run --intensity 0", &["provoke-NAME"]),
        ("doctor --for 0s", &["at least 1ms"]),
        ("nosuch", &["nosuch"]),
        ("", &["Usage"]),
    ];
    for (arguments, words) in cases {
        let finished = thrashlab(&fixture, arguments);
        eprintln!("{arguments}");
        finished.expect(2, words);
    }
    assert!(!fixture.state().exists(), "wrong use makes nothing");
}

#[test]
fn every_command_has_help_and_run_has_examples() {
    let fixture = Fixture::new();
    let of_guests =
        ["vm", "vm kernels", "vm machines", "vm boot", "vm disk", "vm shell", "vm verify", "cache"];
    let others = [
        "",
        "run",
        "show",
        "compare",
        "attribute",
        "bisect",
        "doctor",
        "experiment",
        "sweep",
        "footprint",
        "import",
        "import resp1",
        "mmu",
        "mmu run",
        "mmu whatif",
        "reference",
        "completions",
    ];
    for command in of_guests.into_iter().chain(others) {
        let help = thrashlab(&fixture, &format!("{command} --help"));
        help.expect(0, &[]);
        assert!(help.sentences().contains("Usage: thrashlab"), "{}", help.stdout);
        assert!(!help.stdout.contains("test-freeze"));
    }
    // A command that ends in a backslash continues in the next line.
    let help = thrashlab(&fixture, "run --help").stdout.replace(" \\\n      ", " ");
    let examples: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Examples:")
        .filter_map(|line| line.trim().trim_start_matches("sudo ").strip_prefix("thrashlab "))
        .collect();
    assert!(examples.len() >= 5, "{help}");
    for example in examples {
        // What is shown is accepted: only the work directory is refused, after the arguments were
        // read. Guests and simulated machines have none.
        let arguments = example.split("  ").next().unwrap();
        if arguments.contains("--subject ssh:") {
            // And here the way to the other machine.
            let refused = thrashlab(&fixture, &format!("{arguments} --ssh /bin/false"));
            refused.expect(3, &["ssh://me@server"]);
            continue;
        }
        // Before the command of the user, if there is one.
        let refused = arguments.replacen("run", "run --work-dir /dev/null/no", 1);
        let finished = thrashlab(&fixture, &refused);
        let has_none = ["--subject vm", "--subject mmu"].iter().any(|on| arguments.contains(on));
        let code = if has_none { 2 } else { 3 };
        finished.expect(code, &["--work-dir"]);
    }
}

#[test]
fn what_is_not_a_result_is_refused_with_line_and_reason() {
    let fixture = Fixture::new();
    let garbage = fixture.path().join("garbage.run.jsonl");
    for (text, words) in [
        ("garbage\n", ["line 1", "not JSON"]),
        ("{\"kind\":\"phase\",\"at_ns\":1,\"phase\":\"warm\"}\n", ["line 1", "header"]),
        ("{\"kind\":\"header\",\"schema\":99}\n", ["line 1", "update thrashlab"]),
    ] {
        fs::write(&garbage, text).unwrap();
        thrashlab(&fixture, &format!("show {}", garbage.display())).expect(2, &words);
    }
    thrashlab(&fixture, "show nowhere").expect(2, &["nowhere", "No such file"]);
    thrashlab(&fixture, "show reference:nosuch").expect(2, &["nosuch"]);
    thrashlab(&fixture, &format!("import resp1 {}", garbage.display()))
        .expect(2, &["is not output of resp1"]);
}

#[test]
fn published_results_are_read_and_their_ratios_follow() {
    let fixture = Fixture::new();
    let path = Path::new(REFERENCE).join("2.4.20.out");
    let imported = thrashlab(&fixture, &format!("import resp1 {}", path.display()));
    imported.expect(0, &[]);
    let agreeing = imported.stdout.lines().filter(|line| line.contains("agrees")).count();
    assert!(agreeing >= 6, "{}", imported.stdout);
    assert!(!imported.stdout.contains("DIFFERS"), "{}", imported.stdout);
    for words in ["largewrite 396.547 ± 0.368 and 6625.968 ± 0.372", "not recovered: smallwrite"]
    {
        assert!(imported.stdout.contains(words), "{words:?} is not in\n{}", imported.stdout);
    }
    let json = thrashlab(&fixture, &format!("import resp1 {} --json", path.display()));
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["points"][2]["points"]["kind"], "recovered", "{json}");
    assert_eq!(json["points"][1]["points"]["kind"], "more-than-five", "{json}");

    let list = thrashlab(&fixture, "reference");
    list.expect(0, &[]);
    assert!(list.stdout.contains("resp1/2.4.20"), "{}", list.stdout);
    let shown = thrashlab(&fixture, "show reference:resp1/2.4.20");
    shown.expect(0, &[]);
    assert!(shown.stdout.contains("smallwrite"), "{}", shown.stdout);
}

#[test]
fn nested_commands_have_manual_pages_with_examples() {
    let fixture = Fixture::new();
    for command in ["run", "mmu run", "vm boot", "trace record", "cache stat"] {
        let page = thrashlab(&fixture, &format!("man {command}"));
        page.expect(0, &[]);
        let title = format!(".TH thrashlab-{} 1", command.replace(' ', "-"));
        let example = format!("\n  thrashlab {command}");
        for part in [&*title, ".SH EXAMPLES", "Examples:", &*example] {
            assert!(page.stdout.contains(part), "{part:?} is not in\n{}", page.stdout);
        }
    }
    thrashlab(&fixture, "man mmu nosuch").expect(2, &["mmu nosuch", "--help"]);

    // All of them, for a package, which overwrite nothing.
    let pages = fixture.path().join("pages");
    let all = format!("man --all {}", pages.display());
    thrashlab(&fixture, &all).expect(0, &[]);
    for name in ["thrashlab.1", "thrashlab-run.1", "thrashlab-mmu-run.1"] {
        assert!(fs::read_to_string(pages.join(name)).unwrap().contains(".SH NAME"), "{name}");
    }
    thrashlab(&fixture, &all).expect(2, &["create the new folder", "pages"]);
}

#[test]
fn completions_know_the_commands() {
    let fixture = Fixture::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = thrashlab(&fixture, &format!("completions {shell}"));
        script.expect(0, &[]);
        assert!(script.stdout.contains("reference") && script.stdout.contains("subject"));
    }
}
