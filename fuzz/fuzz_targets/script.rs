//! Any text is a script or refused with its place; a script that was read survives the run file,
//! and its commands have words to run.
#![no_main]

use std::path::Path;

use workloads::{Seat, parse_script};
use libfuzzer_sys::fuzz_target;
use model::Script;

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
    let place = Seat { dir: Path::new("/dir"), user: 1 };
    for command in &script.commands {
        for words in [&command.run, &command.builtin] {
            assert_eq!(place.arguments(&script, words).len(), words.len());
        }
        assert!(!command.run.is_empty() || !command.builtin.is_empty());
    }
});
