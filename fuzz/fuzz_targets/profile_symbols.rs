//! Any bytes are a guest's symbols or none; those that were read make a plan.
#![no_main]

use libfuzzer_sys::fuzz_target;
use profile::Symbols;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(symbols) = Symbols::parse(bytes) {
        assert!(symbols.count() > 0);
        // Magic, number of times, a time, two words for each function.
        assert_eq!(symbols.plan(7, &[3]).len(), 8 * (3 + 2 * symbols.count()));
    }
});
