//! Any text is a script or refused with its place; a script that was read survives the run file,
//! and its commands have words to run.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use model::Script;
use workloads::{arguments, parse_script};

fuzz_target!(|text: &str| {
    let script = match parse_script(text) {
        Ok(script) => script,
        Err(error) => {
            assert!(error.line <= text.matches('\n').count() + 1, "{error}");
            assert!(error.column > 0 && !error.reason.is_empty());
            return;
        }
    };
    let json = serde_json::to_string(&script).expect("a script is plain words");
    let again: Script = serde_json::from_str(&json).expect("what was written reads");
    assert_eq!(again, script);
    for command in &script.commands {
        for words in [&command.run, &command.builtin] {
            assert_eq!(arguments(&script, Path::new("/dir"), 1, words).len(), words.len());
        }
        assert!(!command.run.is_empty() || !command.builtin.is_empty());
    }
});
