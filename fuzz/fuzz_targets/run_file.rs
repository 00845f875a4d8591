//! Any bytes are a run or refused; a line that was read writes as JSON that reads back equal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::{Line, Run};

fuzz_target!(|bytes: &[u8]| {
    let Ok(run) = Run::parse(bytes) else {
        return;
    };
    let header = run.header.into_iter().map(|header| Line::Header(Box::new(header)));
    for line in header.chain(run.lines) {
        if let Line::Sample(sample) = &line {
            let _ = sample.delay_ns();
        }
        let text = line.to_json();
        assert!(!text.contains('\n'), "a line of JSON is one line: {text}");
        match Line::parse(&text) {
            Ok(again) => assert_eq!(again, line, "{text}"),
            Err(error) => panic!("what was written does not read: {error}\n{text}"),
        }
    }
});
