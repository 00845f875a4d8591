//! Any text is the plan of a sweep or refused with a reason. One that was read is written and read
//! again as the same, and its levels are read back from their texts.
#![no_main]

use experiment::parse_sweep;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    check(text);
    let (over, range) = text.split_once('\n').unwrap_or(("load.intensity", text));
    check(&format!("[sweep]\nover = {over:?}\nrange = {range:?}\n"));
});

fn check(text: &str) {
    let plan = match parse_sweep(text) {
        Ok(plan) => plan,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let again = parse_sweep(&plan.text());
    assert_eq!(again.as_ref(), Ok(&plan), "{}", plan.text());
    let search = plan.search().expect("a finished sweep has a search");
    for level in search.coarse_levels() {
        let text = plan.quantity.format(level);
        assert_eq!(plan.quantity.parse(&text), Ok(level), "{text}");
    }
}
