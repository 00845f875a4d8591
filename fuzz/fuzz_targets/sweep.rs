//! Any text is the plan of a sweep or refused with a reason. One that was read is written and read
//! again as the same, and its levels are read back from their texts.
#![no_main]

use experiment::{SweepDraft, parse_sweep};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    check(parse_sweep(text));
    let (over, range) = text.split_once('\n').unwrap_or(("load.intensity", text));
    let typed = SweepDraft {
        over: Some(over.to_owned()),
        range: Some(range.to_owned()),
        ..SweepDraft::default()
    };
    check(Ok(typed));
});

fn check(draft: Result<SweepDraft, experiment::PlanError>) {
    let plan = match draft.and_then(SweepDraft::finish) {
        Ok(plan) => plan,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let again = parse_sweep(&plan.text()).and_then(SweepDraft::finish);
    assert_eq!(again.as_ref(), Ok(&plan), "{}", plan.text());
    let search = plan.search().expect("a finished sweep has a search");
    for level in search.coarse_levels() {
        let text = plan.quantity.format(level);
        assert_eq!(plan.quantity.parse(&text), Ok(level), "{text}");
    }
}
