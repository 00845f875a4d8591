//! Any text is the histogram of a periodic probe or refused; delays that were read are in order, and
//! there are as many once they are written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::histogram::{counts, encode};

fuzz_target!(|text: &str| {
    let Ok(delays) = counts(text) else {
        return;
    };
    assert!(delays.is_sorted(), "{delays:?}");
    // Writing takes a record for each delay: long series are not written again.
    let all: u64 = delays.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count));
    if all > 10_000 {
        return;
    }
    let repeated = |(delay_ns, count): &(u64, u64)| std::iter::repeat_n(*delay_ns, *count as usize);
    let delays_ns: Vec<u64> = delays.iter().flat_map(repeated).collect();
    if let Ok(again) = encode(&delays_ns) {
        let read = counts(&again).expect("what was written reads");
        assert_eq!(read.iter().map(|(_, count)| count).sum::<u64>(), all);
    }
});
