//! A report as HTML, Markdown, text and JSON.

use report::page::{Material, html, json, markdown, report, text};

use super::made_up::{folder, run, two_kernels};

/// What somebody may have put into the name of a kernel.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>|`*";

fn hostile() -> Material<'static> {
    let quiet = run("001-noload", "noload", HOSTILE, &[4.0, 4.1, 4.2]);
    let loaded = run("002-cpuload", "cpuload", HOSTILE, &[9.0, 9.1, 9.2]);
    let inputs = vec![folder(HOSTILE, vec![quiet, loaded])];
    Material { inputs, comparison: None, notes: vec![HOSTILE.to_owned()] }
}

#[test]
fn the_same_results_give_the_same_bytes() {
    let [first, second] = [(), ()].map(|()| {
        let material = two_kernels();
        let made = report(&material);
        [html(&made), markdown(&made), text(&made), json(&material, &made).to_string()]
    });
    assert_eq!(first, second);
}

#[test]
fn a_page_needs_nothing_else_and_forbids_it() {
    let page = html(&report(&two_kernels()));
    assert!(page.contains("content=\"default-src 'none'; script-src 'unsafe-inline'"));
    let before_scripts = page.split("<script>").next().unwrap();
    for loads in ["src=", "@import", "url(", "<link rel=\"stylesheet\""] {
        assert!(!before_scripts.contains(loads), "{loads}");
    }
    assert!(page.len() < 1_500_000);
}

#[test]
fn what_a_result_says_stays_text() {
    let made = report(&hostile());
    let page = html(&made);
    assert!(!page.contains("<img"), "markup of a result is in the page");
    // Charts, Vega and our own script: nothing else ends a script.
    assert_eq!(page.matches("</script").count(), 3);
    let text = markdown(&made);
    // What stands in a fence is no markup.
    let outside: String = text.split("```").step_by(2).collect();
    assert!(!outside.contains("<img"), "{outside}");
    assert!(outside.contains(r"&lt;img") && outside.contains(r"\|\`\*"), "{outside}");
}

#[test]
fn a_pull_request_gets_the_verdicts_first() {
    let made = report(&two_kernels());
    let text = markdown(&made);
    let head: String = text.lines().take(13).map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!(head);
    assert!(text.contains("<details><summary>"));
}

#[test]
fn the_text_has_all_tables() {
    insta::assert_snapshot!(text(&report(&two_kernels())));
}

#[test]
fn the_commands_make_the_results_again() {
    let made = text(&report(&two_kernels()));
    let command = "thrashlab run --subject sandbox:mem=512M --probe response --load largewrite --quick --seed 7";
    assert_eq!(made.matches(command).count(), 2, "{made}");
    assert!(made.contains("thrashlab report before after -o report.html"), "{made}");
}

#[test]
fn nothing_is_a_report_too() {
    let made = report(&Material::default());
    assert!(made.sections.iter().all(|section| section.id == "reproduce"));
    assert!(html(&made).contains("</html>"));
}
