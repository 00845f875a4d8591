//! Any text is a mix or refused with its place; a mix that was read has a name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sun4::Mix;

fuzz_target!(|text: &str| {
    match Mix::parse(text) {
        Ok(mix) => assert!(!mix.name.trim().is_empty()),
        Err(error) => {
            assert!(error.line >= 1 && error.line <= text.matches('\n').count() + 1, "{error}");
            assert!(error.column >= 1 && !error.reason.is_empty());
        }
    }
});
