//! Any bytes of a guest are a notice or none; one that was read is written as one line that reads
//! back equal.
#![no_main]

use guest::{NOTICE, Notice};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // As it comes, and behind the byte that makes it a notice.
    let marked = [&[NOTICE], bytes].concat();
    for line in [bytes, &marked] {
        let Some(notice) = Notice::decode(line) else {
            continue;
        };
        let encoded = notice.encode();
        assert_eq!(encoded.iter().position(|byte| *byte == b'\n'), Some(encoded.len() - 1));
        assert_eq!(Notice::decode(&encoded), Some(notice));
    }
});
