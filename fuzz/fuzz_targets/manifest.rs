//! Any bytes are a manifest of an experiment or refused with the file's name; a manifest that was
//! read is written as JSON that reads back equal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use results::manifest::parse;

fuzz_target!(|bytes: &[u8]| {
    let manifest = match parse(bytes, "fuzzed".into()) {
        Ok(manifest) => manifest,
        Err(error) => {
            assert!(error.to_string().contains("fuzzed"), "{error}");
            return;
        }
    };
    let text = serde_json::to_vec_pretty(&manifest).expect("a manifest is plain words");
    match parse(&text, "written".into()) {
        Ok(again) => assert_eq!(again, manifest),
        Err(error) => panic!("what was written does not read: {error}"),
    }
});
