//! Any text is the histogram of a periodic probe or refused; delays that were read are in order, and
//! there are as many once they are written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::histogram::{decode, encode};

fuzz_target!(|text: &str| {
    let Ok(delays_ns) = decode(text) else {
        return;
    };
    assert!(delays_ns.is_sorted(), "{delays_ns:?}");
    // Writing takes a record for each delay: long series are not written again.
    if delays_ns.len() <= 10_000
        && let Ok(again) = encode(&delays_ns)
    {
        assert_eq!(decode(&again).expect("what was written reads").len(), delays_ns.len());
    }
});
