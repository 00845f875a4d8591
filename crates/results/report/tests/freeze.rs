//! Results of freezes from files: whatever is in them is printed or refused, and advice is given.

use analysis::freeze::{FreezeSuiteRuns, MachineNow};
use proptest::prelude::*;
use render::plain_text;
use report::{AdviceView, freeze_advice_document, freeze_document};

/// Two kernels, two scenarios and three settings, one of which does not run.
const RESULTS: &str = r#"{
"kernels": ["deb:linux-image-6.1.0-56-cloud-amd64", "7.3"],
"scenarios": [{"name": "leak", "about": "a leak", "link": "https://example.org"}, {"name": "b", "about": ""}],
"policies": [{"name": "kernel", "about": "as it is", "settings": []},
 {"name": "no-swap", "about": "no swap", "settings": ["subject.swap=0"]},
 {"name": "high", "about": "h", "settings": ["memory.high = 0.8 x limit", "sysctl.vm.min_free_kbytes=5120"]},
 {"name": "earlyoom", "about": "e", "settings": ["daemon=earlyoom -s 100"], "control": "kernel"}],
"cells": [
{"kernel":"deb:linux-image-6.1.0-56-cloud-amd64","scenario":"leak","policy":"kernel","runs":[{"seed":1,"status":"complete","idle_s":0.07,"frozen_s":{"at_least":33.0},"frozen_in_plan_s":[29.0,29.5],"longest_s":{"at_least":33.0},"responses":60,"lost":1,"victims":{"offenders":1,"bystanders":0,"probe":0,"others":0},"first_kill_after_s":2.5,"finished":0,"refused":0}]},
{"kernel":"deb:linux-image-6.1.0-56-cloud-amd64","scenario":"leak","policy":"no-swap","runs":[{"seed":1,"status":"complete","idle_s":0.07,"frozen_s":1.25,"frozen_in_plan_s":[1.25,1.25],"longest_s":1.25,"responses":60,"lost":0,"victims":{"offenders":1,"bystanders":0,"probe":0,"others":0},"finished":0,"refused":0}]},
{"kernel":"deb:linux-image-6.1.0-56-cloud-amd64","scenario":"b","policy":"high","runs":[],"problem":"it does not boot"},
{"kernel":"deb:linux-image-6.1.0-56-cloud-amd64","scenario":"leak","policy":"earlyoom","runs":[{"seed":1,"status":"complete","idle_s":0.07,"frozen_s":2.0,"frozen_in_plan_s":[2.0,2.0],"longest_s":2.0,"responses":60,"lost":0,"victims":{"offenders":1,"bystanders":0,"probe":0,"others":0},"finished":0,"refused":0}]},
{"kernel":"7.3","scenario":"b","policy":"kernel","runs":[{"seed":1,"status":"kernel-died","responses":0,"lost":0,"victims":{"offenders":0,"bystanders":0,"probe":0,"others":0},"finished":0,"refused":0,"death":"a bug"}]}
]}"#;

/// Everything that is made of results, as text; `None` for what is refused.
fn printed(text: &str) -> Option<String> {
    let runs: FreezeSuiteRuns = serde_json::from_str(text).ok()?;
    let shown = plain_text(&freeze_document(&runs, "thrashlab freeze", false));
    let machine = MachineNow {
        kernel: "6.8.0".to_owned(),
        swaps: vec!["/dev/sda2".to_owned()],
        sysctls: [("vm.min_free_kbytes".to_owned(), "18446744073709551615".to_owned())].into(),
        daemons: Vec::new(),
    };
    let scenarios: Vec<String> = runs.scenarios.iter().map(|it| it.name.clone()).collect();
    let (about, caveat) = ("a", Some("Another disk."));
    let view = AdviceView { runs: &runs, machine: &machine, about, scenarios: &scenarios, caveat };
    let advice = freeze_advice_document(&view).map(|it| plain_text(&it)).unwrap_or_default();
    Some(shown + &advice)
}

#[test]
fn results_are_shown_and_give_advice() {
    let text = printed(RESULTS).unwrap();
    for words in [
        "frozen for ≥33.0s under leak",
        "it does not boot",
        "no-swap and earlyoom shorten freezes",
        "-/dev/sda2",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

proptest! {
    #[test]
    fn damaged_results_are_printed_or_refused(
        changes in prop::collection::vec((0..RESULTS.len(), "[0-9a-z\"{}\\[\\],:.eE-]"), 1..4),
        cut in prop::option::of(0..RESULTS.len()),
    ) {
        let mut bytes = RESULTS.as_bytes().to_vec();
        for (at, with) in &changes {
            bytes[*at] = with.as_bytes()[0];
        }
        bytes.truncate(cut.unwrap_or(bytes.len()));
        printed(&String::from_utf8_lossy(&bytes));
    }
}
