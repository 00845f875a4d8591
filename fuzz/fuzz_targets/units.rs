//! Any text is a size or duration within its limits, or refused; both print.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::units::{format_duration, format_size, parse_duration_ns, parse_size_bytes};

fuzz_target!(|text: &str| {
    match parse_size_bytes(text) {
        Ok(size_bytes) => {
            assert!(size_bytes < 1 << 63, "{text:?} is {size_bytes}");
            let printed = format_size(size_bytes);
            assert!(parse_size_bytes(&printed).is_ok(), "{text:?} prints as {printed}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    match parse_duration_ns(text) {
        Ok(duration_ns) => {
            assert!(duration_ns < 1 << 63, "{text:?} is {duration_ns}");
            let printed = format_duration(duration_ns);
            assert!(parse_duration_ns(&printed).is_ok(), "{text:?} prints as {printed}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
